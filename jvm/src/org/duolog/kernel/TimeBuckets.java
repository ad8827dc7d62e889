package org.duolog.kernel;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.streaming.MapState;

/**
 * What a task must know of rows that lie in buckets of time: stream time, and which buckets there are.
 *
 * <pre>
 *   task, 0  ->  stream time                       8 bytes, big-endian
 *   task, 1  ->  buckets that may have rows        8 bytes each, big-endian, ascending
 * </pre>
 *
 * <p>Beside the rows themselves, whose keys are longer. Changes are in memory until {@link #write}.
 * Threads: one at a time.
 */
final class TimeBuckets implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  private static final long NO_TIME = -1;

  private final long intervalMs;
  private transient MapState<byte[], byte[]> state;
  private transient Map<Long, Task> tasks;
  private transient Task task;

  /** @param intervalMs how long a bucket is; part of the checkpoint */
  TimeBuckets(long intervalMs) {
    this.intervalMs = intervalMs;
  }

  void attach(MapState<byte[], byte[]> state) {
    this.state = state;
  }

  void open() {
    tasks = new HashMap<>();
  }

  void select(long grouping) {
    task = tasks.computeIfAbsent(grouping, unused -> load());
  }

  /** The greatest time that was observed; below 0 where there was none. */
  long streamTime() {
    return task.streamTime;
  }

  void observe(long ts) {
    if (ts > task.streamTime) {
      task.streamTime = ts;
      task.moved = true;
    }
  }

  long of(long ts) {
    return ts / intervalMs;
  }

  long start(long bucket) {
    return bucket * intervalMs;
  }

  /** Whether all times of a bucket are before this one. */
  boolean isBefore(long bucket, long time) {
    return start(bucket) <= time - intervalMs;
  }

  boolean isEmpty() {
    return task.buckets.isEmpty();
  }

  long first() {
    return task.buckets.first();
  }

  /** The bucket of a time, which gets a row. */
  long use(long ts) {
    long bucket = of(ts);
    task.changed |= task.buckets.add(bucket);
    return bucket;
  }

  /** A bucket has no rows any more. */
  void forget(long bucket) {
    task.changed |= task.buckets.remove(bucket);
  }

  void write() {
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

  private Task load() {
    Task loaded = new Task();
    byte[] time = state.getValue(TIME);
    loaded.streamTime = time == null ? NO_TIME : ByteBuffer.wrap(time).getLong();
    byte[] buckets = state.getValue(BUCKETS);
    if (buckets != null) {
      for (ByteBuffer left = ByteBuffer.wrap(buckets); left.hasRemaining(); ) {
        loaded.buckets.add(left.getLong());
      }
    }
    return loaded;
  }

  private static final class Task {
    final TreeSet<Long> buckets = new TreeSet<>();
    long streamTime;
    boolean moved;
    boolean changed;
  }
}
