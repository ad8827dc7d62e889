package org.duolog.kernel.store.window;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.IdleTicks;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.Windows;
import org.duolog.kernel.store.BucketStore;
import org.duolog.kernel.store.StateRows;

/**
 * The rows of windows, which expire when stream time closes their windows.
 *
 * <pre>
 *   (task, bucket), key bytes  ->  {@code StoredRow}     bucket = window start / interval
 *   task, 0, 1, 2  ->  {@link WindowTask}
 * </pre>
 *
 * <p>The last two columns of a key are its window's start and end. Stream time is the greatest
 * timestamp so far; a window is closed if its end is at or before stream time minus the grace
 * period. Its row may be kept longer ({@link Closing#expiredUntil}); after that it has expired, and
 * is neither written nor found. A bucket whose windows have all expired is scanned and emptied: at
 * the end of a micro-batch; in real time a few rows with each record, so that a million windows
 * that close at once delay nothing.
 *
 * <p>With an order, rows are emitted when their windows close ({@link DueRows}), and do not expire
 * before. Rows that stay after they have been emitted expire like others, but not with the record
 * that caused their emission.
 *
 * <p>Threads: one at a time. Source: Kafka Streams AbstractRocksDBSegmentedBytesStore, which does
 * not keep stream time over a restart.
 */
public final class WindowRows implements StateRows {
  private static final long serialVersionUID = 1L;
  private static final int EXPIRED_PER_RECORD = 64;
  private static final int READ_PER_RECORD = 10_000;

  final BucketStore rows;
  final WindowKeys keys;
  final Closing closing;
  final long intervalMs;
  final Order order;
  private String applicationId;
  private long idleMs;
  private transient MapState<byte[], byte[]> state;
  transient boolean writeThrough;
  private transient boolean cached;
  transient Runnable write;
  private transient Map<Long, WindowTask> tasks;
  transient WindowTask task;
  private transient long grouping;

  /** @param keyColumns number of columns of a key with its window */
  WindowRows(String name, int keyColumns, Grouping grouping, Closing closing) {
    this(name, keyColumns, grouping, closing, null, null);
  }

  /**
   * @param indexKey computes the key of the index from a key with its window; null if there is no
   *     index
   * @param order the order in which rows are emitted when their windows close; null if they are
   *     emitted before
   */
  public WindowRows(
      String name,
      int keyColumns,
      Grouping grouping,
      Closing closing,
      Program indexKey,
      Order order) {
    this.rows = new BucketStore(name, keyColumns, 0, grouping);
    this.keys = new WindowKeys(keyColumns, closing, indexKey, order);
    this.closing = closing;
    this.intervalMs = closing.bucketMs();
    this.order = order;
  }

  /**
   * Rows with the same end are emitted in the order of these bytes of their keys.
   *
   * @param byStart true if the start of their windows precedes these
   * @param stays true if rows are kept after they have been emitted
   */
  public record Order(Program keyBytes, boolean byStart, boolean stays) implements Serializable {
    private static final long serialVersionUID = 1L;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
    rows.attach(state);
  }

  @Override
  public void open(boolean writeThrough, boolean cached, Runnable write) {
    this.writeThrough = writeThrough;
    this.cached = cached;
    this.write = write;
    tasks = new HashMap<>();
  }

  @Override
  public void select(long grouping) {
    rows.select(grouping);
    this.grouping = grouping;
    task = tasks.computeIfAbsent(grouping, unused -> load());
  }

  /**
   * Closes windows that have ended if there has been no record for this long, using the ticks of
   * the application.
   */
  public void closeIdle(String applicationId, long idleMs) {
    this.applicationId = applicationId;
    this.idleMs = idleMs;
  }

  /** Processes a tick: advances time as far as needed, if there has been no record for long. */
  void tick(long nowMs, long begunMs) {
    long idleSince = task.idle.tick(nowMs, begunMs);
    if (nowMs - idleSince >= idleMs) {
      moveTo(Math.min(nowMs, closes(task.idle.lastEnd())));
    } else {
      moveTo(task.streamTime);
    }
  }

  /** Requests the next tick. */
  void wantTick(long nowMs, boolean goesOn) {
    long soon = nowMs + IdleTicks.pauseMs(idleMs);
    long next = Math.max(soon, task.idle.since() + idleMs);
    if (!goesOn && closes(task.idle.lastEnd()) <= task.streamTime) {
      next = Long.MAX_VALUE;
    } else if (!goesOn) {
      next = Math.max(next, closes(task.due.firstEnd()));
    }
    IdleTicks.want(applicationId, taskName(), next);
  }

  /** Returns the time at which a window with this end closes. */
  private long closes(long end) {
    return Windows.end(end, closing.delayMs());
  }

  private String taskName() {
    return rows.name() + ' ' + grouping;
  }

  /** Advances stream time to a record, and in real time deletes some expired rows. */
  public void observe(long ts) {
    if (task.idle != null && task.idle.observeRecord()) {
      long soon = System.currentTimeMillis() + IdleTicks.pauseMs(idleMs);
      IdleTicks.want(applicationId, taskName(), soon);
    }
    moveTo(ts);
  }

  private void moveTo(long ts) {
    if (ts > task.streamTime) {
      task.streamTime = ts;
      task.over = closing.expiredUntil(ts);
      task.moved = true;
    }
    task.next();
    if (writeThrough) {
      if (expires()) {
        expire(EXPIRED_PER_RECORD);
      }
      task.write(state);
    }
  }

  /** Returns true if rows stay after they have been emitted. */
  boolean stay() {
    return order != null && order.stays;
  }

  private boolean expires() {
    return order == null || order.stays;
  }

  /** Adds a row of a key, which the caller must not modify: it is emitted in its turn. */
  void addDue(UnsafeRow key) {
    if (task.idle != null) {
      task.idle.observeWindow(keys.end(key));
    }
    task.due.add(key, writeThrough);
  }

  /**
   * Removes and returns the key of the next row to emit; null if there is none for this record.
   *
   * @param early true if a row that is not due may be returned
   */
  UnsafeRow pollDue(boolean early) {
    return task.due.poll(early);
  }

  /** Ends the emission of rows for now; in real time the position is written. */
  void endPoll() {
    if (writeThrough) {
      task.write(state);
    }
  }

  public long streamTime() {
    return task.streamTime;
  }

  public boolean isClosed(long end) {
    return end <= task.streamTime - closing.delayMs();
  }

  /** Returns true if the row of a window with this end has expired. */
  boolean isOver(long end) {
    return end <= task.over;
  }

  /** With a record cache a row is found until the micro-batch ends, as in Kafka Streams. */
  @Override
  public boolean isExpired(UnsafeRow key) {
    return expires() && keys.end(key) <= expiredUntil(key);
  }

  private long expiredUntil(UnsafeRow key) {
    if (!stay() || task.migrated.isEmpty()) {
      return expiredUntil();
    }
    long before = Math.max(task.emitted.before(), task.migrated.before(keys.orderBytes(key)));
    return Math.min(task.over, before);
  }

  private long expiredUntil() {
    if (stay()) {
      return Math.min(task.over, task.emitted.before());
    }
    return cached ? task.overAtFirst : task.over;
  }

  /** Counts added or removed rows. */
  public void count(int rows, long bytes) {
    task.rows += rows;
    task.bytes += bytes;
    task.counted = true;
  }

  /** Returns the number of counted rows. */
  public long held() {
    return task.rows;
  }

  /** Returns the number of counted bytes. */
  public long heldBytes() {
    return task.bytes;
  }

  /** Returns the index of the task's windows. */
  public WindowIndex index() {
    return task.index;
  }

  public void openKeys(int partition) {
    keys.open(partition);
  }

  public void closeKeys() {
    keys.close();
  }

  @Override
  public byte[] get(UnsafeRow key) {
    return rows.bytes(keys.bucket(key), key);
  }

  @Override
  public void put(UnsafeRow key, byte[] row) {
    if (isExpired(key)) {
      forget(key);
      return;
    }
    long bucket = keys.bucket(key);
    task.due.written(key);
    if (task.buckets.add(bucket)) {
      task.changed = true;
      if (writeThrough) {
        task.write(state);
      }
    }
    rows.putBytes(bucket, key, row);
  }

  @Override
  public void remove(UnsafeRow key) {
    long bucket = keys.bucket(key);
    if (task.buckets.contains(bucket) || task.emptied.contains(bucket)) {
      rows.delete(bucket, key);
    }
  }

  @Override
  public void settle() {
    task.overAtFirst = task.over;
  }

  @Override
  public void flush() {
    task.emptied.clear();
    if (expires()) {
      expire(Integer.MAX_VALUE);
    }
    if (keys.isIndexed()) {
      task.index.flush();
    }
    task.write(state);
  }

  /** Returns the start of a key's window. */
  public long start(UnsafeRow key) {
    return keys.start(key);
  }

  private boolean hasExpired(long bucket) {
    return lastEnd(bucket) <= (stay() ? expiredUntil() : task.over);
  }

  /** Returns the latest end of a window whose row is in a bucket. */
  long lastEnd(long bucket) {
    return closing.lastEnd(Windows.end(bucket * intervalMs, intervalMs) - 1);
  }

  /** Deletes up to {@code rowsMax} rows of expired buckets. */
  private void expire(int rowsMax) {
    int left = rowsMax;
    while (left > 0 && !task.buckets.isEmpty() && hasExpired(task.buckets.first())) {
      long bucket = task.buckets.first();
      if (task.expiring == null) {
        task.expiring = rows.keys(bucket);
      }
      for (; left > 0 && task.expiring.hasNext(); left--) {
        UnsafeRow key = task.expiring.next();
        // Distant buckets may share a number.
        if (keys.bucket(key) == bucket) {
          rows.delete(bucket, key);
          forget(key);
        }
      }
      if (!task.expiring.hasNext()) {
        task.expiring = null;
        task.buckets.remove(bucket);
        task.changed = true;
      }
    }
  }

  /** Returns the key by which the index has a row, or the row's key; valid until the next call. */
  public UnsafeRow found(UnsafeRow key) {
    return keys.found(key);
  }

  /** Removes from the index what has no row. */
  private void forget(UnsafeRow key) {
    if (keys.isIndexed()) {
      WindowIndex.Entry known = task.index.of(found(key));
      if (known.forgetOver(this)) {
        task.index.changed(known);
      }
    }
  }

  /** Notes that a row has been emitted and is no longer found by its key. */
  void emitted(UnsafeRow key) {
    if (keys.isIndexed()) {
      WindowIndex.Entry known = task.index.of(found(key));
      if (known.windows.remove(new WindowIndex.Bounds(start(key), keys.end(key)))) {
        task.index.changed(known);
      }
    }
  }

  private WindowTask load() {
    DueOrder due =
        new DueOrder(new DueWindows(this), writeThrough ? READ_PER_RECORD : Integer.MAX_VALUE);
    WindowTask loaded =
        new WindowTask(state, stay(), idleMs > 0, new WindowIndex(state, writeThrough), due);
    if (loaded.streamTime != WindowTask.NO_TIME) {
      loaded.over = closing.expiredUntil(loaded.streamTime);
      loaded.overAtFirst = loaded.over;
      loaded.openFrom(loaded.streamTime - closing.delayMs());
      for (Long bucket : loaded.buckets) {
        if (lastEnd(bucket) > loaded.emitted.until()) {
          break;
        }
        loaded.firstPending = bucket + 1;
      }
    }
    return loaded;
  }
}
