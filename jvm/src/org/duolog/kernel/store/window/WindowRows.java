package org.duolog.kernel.store.window;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Iterator;
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
import org.duolog.kernel.task.Operands;

/**
 * The rows of windows, which go when stream time closes their windows.
 *
 * <pre>
 *   (task, bucket), key bytes  ->  {@code StoredRow}     bucket = window start / interval
 *   task, 0, 1, 2  ->  {@link WindowTask}
 * </pre>
 *
 * <p>The last two columns of a key are its window's start and end. Stream time is the greatest timestamp
 * that was seen; a window is closed where its end is not above stream time less the grace period. Its
 * row may be kept a while longer ({@link Closing#letGoUntil}); then it is over, and is neither written
 * nor found any more. A bucket all of whose windows are over is scanned and emptied: at the end of a micro-batch, or in real time a few rows with each record, so
 * that a million windows that close at once hold nobody up.
 *
 * <p>With an order, rows leave when their windows close ({@link DueRows}): none is let go of before. Where they
 * stay behind their results, they are over like others, but not with the record that they were told with.
 *
 * <p>Threads: one at a time. Source: Kafka Streams AbstractRocksDBSegmentedBytesStore, which keeps no
 * stream time over a restart.
 */
public final class WindowRows implements StateRows {
  private static final long serialVersionUID = 1L;
  private static final int EXPIRED_PER_RECORD = 64;
  private static final int READ_PER_RECORD = 10_000;

  private final BucketStore rows;
  private final int endColumn;
  private final int bucketColumn;
  private final Closing closing;
  private final long intervalMs;
  private final Program indexKey;
  private final Order order;
  private final int keyColumns;
  private String applicationId;
  private long idleMs;
  private transient Operands keyOperands;
  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient boolean cached;
  private transient Runnable write;
  private transient Map<Long, WindowTask> tasks;
  private transient WindowTask task;
  private transient long grouping;

  /** @param keyColumns of a key with its window */
  WindowRows(String name, int keyColumns, Grouping grouping, Closing closing) {
    this(name, keyColumns, grouping, closing, null, null);
  }

  /**
   * @param indexKey computes of a key with its window what the window is found by in the index; or null
   * @param order in which rows leave when their windows close; null where they are told before
   */
  public WindowRows(
      String name,
      int keyColumns,
      Grouping grouping,
      Closing closing,
      Program indexKey,
      Order order) {
    this.rows = new BucketStore(name, keyColumns, 0, grouping);
    this.endColumn = keyColumns - 1;
    this.bucketColumn = closing.bucketsByEnd() ? keyColumns - 1 : keyColumns - 2;
    this.closing = closing;
    this.intervalMs = closing.bucketMs();
    this.indexKey = indexKey;
    this.order = order;
    this.keyColumns = keyColumns;
  }

  /**
   * Rows of one end leave in the order of these bytes of their keys.
   *
   * @param byStart whether the start of their windows goes before
   * @param stays whether rows are kept behind their results
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

  /** Windows that have ended close when no record has come for so long, by the ticks of the application. */
  public void closeIdle(String applicationId, long idleMs) {
    this.applicationId = applicationId;
    this.idleMs = idleMs;
  }

  /** It is this time by the wall clock: as much of it counts as is needed, if no record has come for long. */
  void tick(long nowMs, long begunMs) {
    long idleSince = task.idle.tick(nowMs, begunMs);
    if (nowMs - idleSince >= idleMs) {
      moveTo(Math.min(nowMs, closes(task.idle.lastEnd())));
    } else {
      moveTo(task.streamTime);
    }
  }

  /** Tells when the next tick is wanted. */
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

  /** The time at which a window with this end closes. */
  private long closes(long end) {
    return Windows.end(end, closing.delayMs());
  }

  private String taskName() {
    return rows.name() + ' ' + grouping;
  }

  /** A record was seen: moves stream time on, and in real time lets go of some of what has expired. */
  public void observe(long ts) {
    if (task.idle != null && task.idle.seen()) {
      long soon = System.currentTimeMillis() + IdleTicks.pauseMs(idleMs);
      IdleTicks.want(applicationId, taskName(), soon);
    }
    moveTo(ts);
  }

  private void moveTo(long ts) {
    if (ts > task.streamTime) {
      task.streamTime = ts;
      task.over = closing.letGoUntil(ts);
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

  /** Whether rows stay when they have left. */
  boolean stay() {
    return order != null && order.stays;
  }

  private boolean expires() {
    return order == null || order.stays;
  }

  /** A row was made, of a key that its maker keeps: it leaves in its turn. */
  void made(UnsafeRow key) {
    if (task.idle != null) {
      task.idle.made(end(key));
    }
    task.due.made(key, writeThrough);
  }

  /**
   * Takes the key of the row that leaves next; null where none does with this record.
   *
   * @param early whether one leaves that is not due
   */
  UnsafeRow pollDue(boolean early) {
    return task.due.poll(early);
  }

  /** Some rows have left, or none was due: in real time that is written now. */
  void polled() {
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

  /** Whether the row of a window with this end is let go. */
  boolean isOver(long end) {
    return end <= task.over;
  }

  /** With a record cache it is found until the micro-batch ends, as in Kafka Streams. */
  @Override
  public boolean isOver(UnsafeRow key) {
    return expires() && end(key) <= goneUntil(key);
  }

  private long goneUntil(UnsafeRow key) {
    if (!stay() || task.toldBefore.isEmpty()) {
      return goneUntil();
    }
    long before = Math.max(task.told.before(), task.toldBefore.before(orderBytes(key)));
    return Math.min(task.over, before);
  }

  private long goneUntil() {
    if (stay()) {
      return Math.min(task.over, task.told.before());
    }
    return cached ? task.overAtFirst : task.over;
  }

  /** Counts rows that have come or gone. */
  public void count(int rows, long bytes) {
    task.rows += rows;
    task.bytes += bytes;
    task.counted = true;
  }

  /** How many rows were counted. */
  public long held() {
    return task.rows;
  }

  /** How many bytes were counted. */
  public long heldBytes() {
    return task.bytes;
  }

  /** The windows of the task's keys. */
  public WindowIndex index() {
    return task.index;
  }

  public void openKeys(int partition) {
    keyOperands = new Operands(keyColumns, 0, 0);
    if (indexKey != null) {
      indexKey.open(partition);
    }
    if (order != null) {
      order.keyBytes.open(partition);
    }
  }

  public void closeKeys() {
    if (indexKey != null) {
      indexKey.close();
    }
    if (order != null) {
      order.keyBytes.close();
    }
  }

  @Override
  public byte[] get(UnsafeRow key) {
    return rows.bytes(bucket(key), key);
  }

  @Override
  public void put(UnsafeRow key, byte[] row) {
    if (isOver(key)) {
      forget(key);
      return;
    }
    long bucket = bucket(key);
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
    long bucket = bucket(key);
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
    if (indexKey != null) {
      task.index.flush();
    }
    task.write(state);
  }

  private long bucket(UnsafeRow key) {
    return Math.floorDiv(key.getLong(bucketColumn), intervalMs);
  }

  /** The start of the window that a key is of. */
  public long start(UnsafeRow key) {
    return key.getLong(endColumn - 1);
  }

  private long end(UnsafeRow key) {
    return key.getLong(endColumn);
  }

  private boolean hasExpired(long bucket) {
    return lastEnd(bucket) <= (stay() ? goneUntil() : task.over);
  }

  private long lastEnd(long bucket) {
    return closing.lastEnd(Windows.end(bucket * intervalMs, intervalMs) - 1);
  }

  /** Deletes up to so many rows of buckets that have expired. */
  private void expire(int rowsMax) {
    int left = rowsMax;
    while (left > 0 && !task.buckets.isEmpty() && hasExpired(task.buckets.first())) {
      long bucket = task.buckets.first();
      if (task.expiring == null) {
        task.expiring = rows.keys(bucket);
      }
      for (; left > 0 && task.expiring.hasNext(); left--) {
        UnsafeRow key = task.expiring.next();
        // Buckets far apart may share a place.
        if (bucket(key) == bucket) {
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

  /** What a row is found by in the index, or its key; valid until the next call. */
  public UnsafeRow found(UnsafeRow key) {
    return indexKey == null ? key : indexKey.apply(keyOperands.of(key, null, null, 0));
  }

  /** What has no row is not in the index either. */
  private void forget(UnsafeRow key) {
    if (indexKey != null) {
      WindowIndex.Entry known = task.index.of(found(key));
      if (known.forgetOver(this)) {
        task.index.changed(known);
      }
    }
  }

  /** A row has left: nobody finds it by its key any more. */
  void left(UnsafeRow key) {
    if (indexKey != null) {
      WindowIndex.Entry known = task.index.of(found(key));
      if (known.windows.remove(new WindowIndex.Bounds(start(key), end(key)))) {
        task.index.changed(known);
      }
    }
  }

  private byte[] orderBytes(UnsafeRow key) {
    return order.keyBytes.bytes(keyOperands.of(key, null, null, 0));
  }

  private WindowTask load() {
    DueOrder due = new DueOrder(new Due(), writeThrough ? READ_PER_RECORD : Integer.MAX_VALUE);
    WindowTask loaded = new WindowTask(state, stay(), idleMs > 0, new WindowIndex(state, writeThrough), due);
    if (loaded.streamTime != WindowTask.NO_TIME) {
      loaded.over = closing.letGoUntil(loaded.streamTime);
      loaded.overAtFirst = loaded.over;
      loaded.openFrom(loaded.streamTime - closing.delayMs());
      for (Long bucket : loaded.buckets) {
        if (lastEnd(bucket) > loaded.told.until()) {
          break;
        }
        loaded.firstUntold = bucket + 1;
      }
    }
    return loaded;
  }

  /** What the order of leaving asks of the running task's rows. */
  private final class Due implements DueOrder.Rows {
    @Override
    public Long firstBucket() {
      return task.buckets.ceiling(task.firstUntold);
    }

    @Override
    public long bucket(UnsafeRow key) {
      return WindowRows.this.bucket(key);
    }

    @Override
    public boolean isStored(long bucket) {
      return task.buckets.contains(bucket);
    }

    @Override
    public Iterator<UnsafeRow> keys(long bucket) {
      return rows.keys(bucket);
    }

    @Override
    public DueOrder.Place place(UnsafeRow key) {
      return new DueOrder.Place(end(key), order.byStart ? start(key) : 0, orderBytes(key));
    }

    @Override
    public long firstEnd(long bucket) {
      return closing.firstEnd(bucket * intervalMs);
    }

    @Override
    public boolean mayBeDue(long bucket) {
      return WindowRows.this.isClosed(firstEnd(bucket));
    }

    @Override
    public boolean isClosed(long end) {
      return WindowRows.this.isClosed(end);
    }

    @Override
    public void write() {
      write.run();
    }

    @Override
    public boolean mayGrow(long bucket) {
      return stay() && !WindowRows.this.isClosed(lastEnd(bucket));
    }

    @Override
    public boolean hasLeft(DueOrder.Place place) {
      return stay() && (task.told.has(place) || task.toldBefore.has(place));
    }

    @Override
    public void leaves(DueOrder.Place place) {
      if (stay()) {
        task.told.tell(place);
      }
    }

    @Override
    public void noneIsDue() {
      if (stay()) {
        task.told.tellUntil(task.streamTime - closing.delayMs());
      }
    }

    @Override
    public void emptied(long bucket) {
      if (stay()) {
        task.firstUntold = bucket + 1;
      } else if (task.buckets.remove(bucket)) {
        task.changed = true;
        if (!writeThrough) {
          task.emptied.add(bucket);
        }
      }
    }
  }
}
