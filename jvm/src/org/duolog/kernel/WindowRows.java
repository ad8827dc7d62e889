package org.duolog.kernel;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * The rows of windows, which go when stream time closes their windows.
 *
 * <pre>
 *   (task, bucket), key bytes  ->  {@link StoredRow}     bucket = window start / interval
 *   task, 0  ->  stream time                       8 bytes, big-endian
 *   task, 1  ->  buckets that may have rows        8 bytes each, big-endian, ascending
 * </pre>
 *
 * <p>The last two columns of a key are its window's start and end. Stream time is the greatest timestamp
 * that was seen; a window is closed where its end is not above stream time less the grace period. Its
 * row may be kept a while longer ({@link Closing#letGoUntil}); then it is over, and is neither written
 * nor found any more. A bucket all of whose windows are over is scanned and emptied: at the end of a micro-batch, or in real time a few rows with each record, so
 * that a million windows that close at once hold nobody up.
 *
 * <p>Threads: one at a time. Source: Kafka Streams AbstractRocksDBSegmentedBytesStore, which keeps no
 * stream time over a restart.
 */
final class WindowRows implements StateRows {
  private static final long serialVersionUID = 1L;
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  private static final long NO_TIME = -1;
  private static final int EXPIRED_PER_RECORD = 64;

  private final BucketStore rows;
  private final int endColumn;
  private final int bucketColumn;
  private final Closing closing;
  private final long intervalMs;
  private final Program indexKey;
  private final int keyColumns;
  private transient Operands keyOperands;
  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient boolean cached;
  private transient Map<Long, Task> tasks;
  private transient Task task;

  /** @param keyColumns of a key with its window */
  WindowRows(String name, int keyColumns, Grouping grouping, Closing closing) {
    this(name, keyColumns, grouping, closing, null);
  }

  /** @param indexKey computes of a key with its window what the window is found by in the index */
  WindowRows(
      String name, int keyColumns, Grouping grouping, Closing closing, Program indexKey) {
    this.rows = new BucketStore(name, keyColumns, 0, grouping);
    this.endColumn = keyColumns - 1;
    this.bucketColumn = closing.bucketsByEnd() ? keyColumns - 1 : keyColumns - 2;
    this.closing = closing;
    this.intervalMs = closing.bucketMs();
    this.indexKey = indexKey;
    this.keyColumns = keyColumns;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
    rows.attach(state);
  }

  @Override
  public void open(boolean writeThrough, boolean cached) {
    this.writeThrough = writeThrough;
    this.cached = cached;
    tasks = new HashMap<>();
  }

  @Override
  public void select(long grouping) {
    rows.select(grouping);
    task = tasks.computeIfAbsent(grouping, unused -> load());
  }

  /** A record was seen: moves stream time on, and in real time lets go of some of what has expired. */
  void observe(long ts) {
    if (ts > task.streamTime) {
      task.streamTime = ts;
      task.over = closing.letGoUntil(ts);
      task.moved = true;
    }
    if (writeThrough) {
      expire(EXPIRED_PER_RECORD);
      writeTask();
    }
  }

  boolean isClosed(long end) {
    return end <= task.streamTime - closing.delayMs();
  }

  /** Whether the row of a window with this end is let go. */
  boolean isOver(long end) {
    return end <= task.over;
  }

  /** With a record cache it is found until the micro-batch ends, as in Kafka Streams. */
  @Override
  public boolean isOver(UnsafeRow key) {
    return end(key) <= (cached ? task.overAtFirst : task.over);
  }

  /** The windows of the task's keys. */
  WindowIndex index() {
    return task.index;
  }

  void openKeys(int partition) {
    indexKey.open(partition);
    keyOperands = new Operands(keyColumns, 0, 0);
  }

  void closeKeys() {
    indexKey.close();
  }

  @Override
  public byte[] get(UnsafeRow key) {
    return rows.bytes(bucket(key), key);
  }

  @Override
  public void put(UnsafeRow key, byte[] row) {
    if (isOver(end(key))) {
      forget(key);
      return;
    }
    long bucket = bucket(key);
    if (task.buckets.add(bucket)) {
      task.changed = true;
      if (writeThrough) {
        writeTask();
      }
    }
    rows.putBytes(bucket, key, row);
  }

  @Override
  public void remove(UnsafeRow key) {
    rows.delete(bucket(key), key);
  }

  @Override
  public void flush() {
    expire(Integer.MAX_VALUE);
    if (indexKey != null) {
      task.index.flush();
    }
    writeTask();
    task.overAtFirst = task.over;
  }

  private long bucket(UnsafeRow key) {
    return Math.floorDiv(key.getLong(bucketColumn), intervalMs);
  }

  private long end(UnsafeRow key) {
    return key.getLong(endColumn);
  }

  private boolean hasExpired(long bucket) {
    long next = Windows.end(bucket * intervalMs, intervalMs);
    return isOver(closing.lastEnd(next - 1));
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

  /** What has no row is not in the index either. */
  private void forget(UnsafeRow key) {
    if (indexKey != null) {
      WindowIndex.Entry known =
          task.index.of(indexKey.apply(keyOperands.of(key, null, null, 0)));
      if (known.forgetOver(this)) {
        task.index.changed(known);
      }
    }
  }

  private Task load() {
    Task loaded = new Task(new WindowIndex(state, writeThrough));
    byte[] time = state.getValue(TIME);
    loaded.streamTime = time == null ? NO_TIME : ByteBuffer.wrap(time).getLong();
    loaded.over = time == null ? Long.MIN_VALUE : closing.letGoUntil(loaded.streamTime);
    loaded.overAtFirst = loaded.over;
    byte[] buckets = state.getValue(BUCKETS);
    if (buckets != null) {
      for (ByteBuffer left = ByteBuffer.wrap(buckets); left.hasRemaining(); ) {
        loaded.buckets.add(left.getLong());
      }
    }
    return loaded;
  }

  private void writeTask() {
    if (task.moved) {
      state.updateValue(TIME, ByteBuffer.allocate(Long.BYTES).putLong(task.streamTime).array());
      task.moved = false;
    }
    if (task.changed) {
      ByteBuffer buckets = ByteBuffer.allocate(task.buckets.size() * Long.BYTES);
      task.buckets.forEach(buckets::putLong);
      state.updateValue(BUCKETS, buckets.array());
      task.changed = false;
    }
  }

  /** What is known of a task; what differs from the state is written with a record, or at the end. */
  private static final class Task {
    final TreeSet<Long> buckets = new TreeSet<>();
    final WindowIndex index;
    long streamTime;

    /** Up to which end rows of windows are let go: now, and at the micro-batch's start. */
    long over;

    long overAtFirst;
    boolean moved;
    boolean changed;

    /** What is left of the scan of the first bucket; null before it. */
    Iterator<UnsafeRow> expiring;

    Task(WindowIndex index) {
      this.index = index;
    }
  }
}
