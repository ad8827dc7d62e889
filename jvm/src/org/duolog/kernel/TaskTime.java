package org.duolog.kernel;

import java.nio.ByteBuffer;
import java.util.TreeSet;
import org.apache.spark.sql.streaming.MapState;

/**
 * What a store in buckets of time knows of a task: stream time, and which buckets may have rows.
 *
 * <pre>
 *   task, 0  ->  stream time                                8 bytes, big-endian
 *   task, 1  ->  first and last of buckets side by side     8 bytes each, big-endian, ascending
 * </pre>
 *
 * <p>Stands in the store's own state, under the task's own number, and is read and written while that is
 * selected. Threads: one at a time.
 */
final class TaskTime {
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  static final long NO_TIME = -1;

  /** Those that may have rows; whoever changes them says so. */
  final TreeSet<Long> buckets = new TreeSet<>();

  private final MapState<byte[], byte[]> state;
  private long time = NO_TIME;
  private boolean moved;
  private boolean changed;

  TaskTime(MapState<byte[], byte[]> state) {
    this.state = state;
    byte[] seen = state.getValue(TIME);
    time = seen == null ? NO_TIME : ByteBuffer.wrap(seen).getLong();
    byte[] known = state.getValue(BUCKETS);
    for (ByteBuffer left = ByteBuffer.wrap(known == null ? new byte[0] : known);
        left.hasRemaining(); ) {
      long last = left.getLong(left.position() + Long.BYTES);
      for (long bucket = left.getLong(); bucket <= last; bucket++) {
        buckets.add(bucket);
      }
      left.getLong();
    }
  }

  /** The greatest timestamp that was seen; -1 before the first. */
  long time() {
    return time;
  }

  void observe(long ts) {
    if (ts > time) {
      time = ts;
      moved = true;
    }
  }

  void add(long bucket) {
    changed |= buckets.add(bucket);
  }

  void remove(long bucket) {
    changed |= buckets.remove(bucket);
  }

  /** Writes what differs from the state. */
  void write() {
    if (moved) {
      state.updateValue(TIME, ByteBuffer.allocate(Long.BYTES).putLong(time).array());
      moved = false;
    }
    if (changed) {
      state.updateValue(BUCKETS, runs());
      changed = false;
    }
  }

  private byte[] runs() {
    ByteBuffer runs = ByteBuffer.allocate(buckets.size() * 2 * Long.BYTES);
    Long last = null;
    for (long bucket : buckets) {
      if (last == null || bucket != last + 1) {
        if (last != null) {
          runs.putLong(last);
        }
        runs.putLong(bucket);
      }
      last = bucket;
    }
    if (last != null) {
      runs.putLong(last);
    }
    byte[] written = new byte[runs.position()];
    runs.flip().get(written);
    return written;
  }
}
