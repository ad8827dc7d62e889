package org.duolog.kernel;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * Rows by key that go when they were not updated for a time.
 *
 * <pre>
 *   key bytes          ->  {@link StoredRow}
 *   (bucket), key      ->  nothing: the row is to be looked at when the bucket has expired
 *   0                  ->  stream time, the greatest timestamp that was seen     8 bytes, big-endian
 *   1                  ->  how long a bucket is, and the buckets there are       8 bytes each, big-endian
 * </pre>
 *
 * <p>A row is there as long as its timestamp is less than the time to live behind stream time: whether
 * it was deleted already makes no difference. Each row has a place in a bucket of time that is not behind its
 * own, so that an update writes the row alone; a bucket that has expired is emptied, its rows deleted
 * or, where they were updated since, put into their own. That is done at the end of a micro-batch, in
 * real time for a few rows with each record. The time to live may change: how long a bucket is was
 * decided when the first one was made.
 *
 * <p>Threads: one at a time.
 */
final class ExpiringRows implements StateRows {
  private static final long serialVersionUID = 1L;
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  private static final byte[] NOTHING = {0};
  private static final long NO_TIME = -1;
  private static final int BUCKETS_PER_LIFE = 8;
  private static final int EXPIRED_PER_RECORD = 64;

  private final long ttlMs;
  private final BucketStore index;
  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient Map<Long, Task> tasks;
  private transient Task task;

  ExpiringRows(String name, int keyColumns, Grouping grouping, long ttlMs) {
    this.ttlMs = ttlMs;
    this.index = new BucketStore(name, keyColumns, 0, grouping);
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
    index.attach(state);
  }

  @Override
  public void open(boolean writeThrough, boolean cached, Runnable unused) {
    this.writeThrough = writeThrough;
    tasks = new HashMap<>();
  }

  @Override
  public void select(long grouping) {
    index.select(grouping);
    task = tasks.computeIfAbsent(grouping, unused -> load());
  }

  @Override
  public void seen(long ts) {
    if (ts > task.streamTime) {
      task.streamTime = ts;
      task.moved = true;
    }
    if (writeThrough) {
      expire(EXPIRED_PER_RECORD);
      writeTask();
    }
  }

  /** It has its time by its row, and not by its key. */
  @Override
  public boolean isOver(UnsafeRow key) {
    return false;
  }

  @Override
  public boolean hasGone(long ts) {
    return task.streamTime - ts >= ttlMs;
  }

  @Override
  public byte[] get(UnsafeRow key) {
    byte[] row = state.getValue(key.getBytes());
    if (row == null) {
      task.absent.add(key);
      return null;
    }
    return hasGone(StoredRow.ts(row)) ? null : row;
  }

  @Override
  public void put(UnsafeRow key, byte[] row) {
    long ts = StoredRow.ts(row);
    if (hasGone(ts)) {
      remove(key);
      return;
    }
    state.updateValue(key.getBytes(), row);
    if (task.absent.remove(key)) {
      place(key, ts);
      if (writeThrough) {
        writeTask();
      }
    }
  }

  @Override
  public void remove(UnsafeRow key) {
    state.removeKey(key.getBytes());
    task.absent.add(key);
  }

  @Override
  public void flush() {
    expire(Integer.MAX_VALUE);
    task.absent.clear();
    writeTask();
  }

  /** Has the row of a key looked at when the bucket of this time has expired. */
  private void place(UnsafeRow key, long ts) {
    long bucket = ts / task.intervalMs;
    index.putBytes(bucket, key, NOTHING);
    task.changed |= task.buckets.add(bucket);
  }

  /** Looks at up to so many rows of buckets that have expired. */
  private void expire(int rowsMax) {
    int left = rowsMax;
    while (left > 0 && !task.buckets.isEmpty() && hasExpired(task.buckets.first())) {
      long bucket = task.buckets.first();
      if (task.expiring == null) {
        task.expiring = index.keys(bucket);
      }
      for (; left > 0 && task.expiring.hasNext(); left--) {
        lookAt(bucket, task.expiring.next());
      }
      if (!task.expiring.hasNext()) {
        task.expiring = null;
        task.buckets.remove(bucket);
        task.changed = true;
      }
    }
  }

  private boolean hasExpired(long bucket) {
    return hasGone(Windows.end(bucket * task.intervalMs, task.intervalMs) - 1);
  }

  private void lookAt(long bucket, UnsafeRow key) {
    byte[] row = state.getValue(key.getBytes());
    index.delete(bucket, key);
    if (row != null && hasGone(StoredRow.ts(row))) {
      remove(key);
    } else if (row != null) {
      place(key, StoredRow.ts(row));
    }
  }

  private Task load() {
    Task loaded = new Task();
    byte[] time = state.getValue(TIME);
    loaded.streamTime = time == null ? NO_TIME : ByteBuffer.wrap(time).getLong();
    byte[] buckets = state.getValue(BUCKETS);
    loaded.intervalMs = Math.max(1, ttlMs / BUCKETS_PER_LIFE);
    if (buckets != null) {
      ByteBuffer left = ByteBuffer.wrap(buckets);
      for (loaded.intervalMs = left.getLong(); left.hasRemaining(); ) {
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
      ByteBuffer buckets = ByteBuffer.allocate((1 + task.buckets.size()) * Long.BYTES);
      buckets.putLong(task.intervalMs);
      task.buckets.forEach(buckets::putLong);
      state.updateValue(BUCKETS, buckets.array());
      task.changed = false;
    }
  }

  /** What is known of a task; what differs from the state is written with a record, or at the end. */
  private static final class Task {
    final TreeSet<Long> buckets = new TreeSet<>();

    /** Keys that have no row in the state, as far as they were asked for: the next one needs a place. */
    final Set<UnsafeRow> absent = new HashSet<>();

    long intervalMs;
    long streamTime;
    boolean moved;
    boolean changed;

    /** What is left of the scan of the first bucket; null before it. */
    Iterator<UnsafeRow> expiring;
  }
}
