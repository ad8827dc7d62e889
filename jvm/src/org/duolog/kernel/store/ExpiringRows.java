package org.duolog.kernel.store;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.StoredRow;

/**
 * Rows by key that expire if they are not updated for a time.
 *
 * <pre>
 *   key bytes          ->  {@link StoredRow}
 *   (bucket), key      ->  nothing: the row is to be checked when the bucket has expired
 *   0; 1               ->  {@link TaskTime}; the length of a bucket precedes the buckets
 * </pre>
 *
 * <p>A row exists while stream time minus its timestamp is below the time to live, whether or not
 * it has been deleted yet. Each row is listed in a time bucket that is not later than its own, so
 * that an update writes only the row. An expired bucket is emptied: its rows are deleted or, if
 * they were updated meanwhile, moved to their own bucket. This happens at the end of a micro-batch;
 * in real time, for a few rows with each record. The time to live may change; the length of a
 * bucket is fixed when the first one is created.
 *
 * <p>A lookup returns an empty entry for an expired row that is still stored, and pending updates
 * of the old row are still forwarded.
 *
 * <p>Threads: one at a time.
 */
public final class ExpiringRows implements StateRows {
  private static final long serialVersionUID = 1L;
  private static final byte[] NOTHING = {0};
  private static final int BUCKETS_PER_LIFE = 8;
  private static final int EXPIRED_PER_RECORD = 64;

  private final long ttlMs;
  private final BucketStore index;
  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient Map<Long, Task> tasks;
  private transient Task task;

  public ExpiringRows(String name, int keyColumns, Grouping grouping, long ttlMs) {
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
  public void advanceTime(long ts) {
    task.time.observe(ts);
    if (writeThrough) {
      expire(EXPIRED_PER_RECORD);
      task.time.write();
    }
  }

  /** The time is that of the row; the key has none. */
  @Override
  public boolean isExpired(UnsafeRow key) {
    return false;
  }

  @Override
  public boolean isExpiredAt(long ts) {
    return task.time.time() - ts >= ttlMs;
  }

  @Override
  public byte[] get(UnsafeRow key) {
    byte[] row = state.getValue(key.getBytes());
    if (row == null) {
      task.absent.add(key);
      return null;
    }
    return isExpiredAt(StoredRow.ts(row)) ? null : row;
  }

  @Override
  public void put(UnsafeRow key, byte[] row) {
    long ts = StoredRow.ts(row);
    if (isExpiredAt(ts)) {
      remove(key);
      return;
    }
    state.updateValue(key.getBytes(), row);
    if (task.absent.remove(key)) {
      place(key, ts);
      if (writeThrough) {
        task.time.write();
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
    task.time.write();
  }

  /** Lists the row of a key in the bucket of this time. */
  private void place(UnsafeRow key, long ts) {
    long bucket = task.time.bucket(ts);
    index.putBytes(bucket, key, NOTHING);
    task.time.add(bucket);
  }

  /** Checks up to {@code rowsMax} rows of expired buckets. */
  private void expire(int rowsMax) {
    task.time.expire(rowsMax, this::hasExpired, index::keys, this::check);
  }

  private boolean hasExpired(long bucket) {
    return isExpiredAt(task.time.end(bucket) - 1);
  }

  private void check(long bucket, UnsafeRow key) {
    byte[] row = state.getValue(key.getBytes());
    index.delete(bucket, key);
    if (row != null && isExpiredAt(StoredRow.ts(row))) {
      remove(key);
    } else if (row != null) {
      place(key, StoredRow.ts(row));
    }
  }

  private Task load() {
    long bucketMs = Math.max(1, ttlMs / BUCKETS_PER_LIFE);
    return new Task(new TaskTime(state, bucketMs, TaskTime.Form.EACH_BEHIND_LENGTH));
  }

  /** The state of a task; changes are written with a record, or at the end. */
  private static final class Task {
    final TaskTime time;

    /** Keys known to have no row in the state: the next row needs to be listed. */
    final Set<UnsafeRow> absent = new HashSet<>();

    Task(TaskTime time) {
      this.time = time;
    }
  }
}
