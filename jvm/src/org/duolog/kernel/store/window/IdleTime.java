package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import org.apache.spark.sql.streaming.MapState;

/**
 * Measures in ticks how long a task with windows has been idle. So the result depends only on the
 * input, and is the same when a micro-batch is retried.
 *
 * <pre>
 *   task, 3  ->  the first tick without a record since the last one, or -1; the last end of a
 *                window; 8 bytes each
 * </pre>
 *
 * <p>Threads: one at a time.
 */
final class IdleTime {
  private static final byte[] IDLE = {3};
  private static final long BUSY = -1;
  private static final long NEW = -2;

  private long idleSince = NEW;
  private long lastEnd = Long.MIN_VALUE;
  private boolean changed;

  IdleTime(MapState<byte[], byte[]> state) {
    byte[] known = state.getValue(IDLE);
    if (known != null) {
      ByteBuffer kept = ByteBuffer.wrap(known);
      idleSince = kept.getLong();
      lastEnd = kept.getLong();
    }
  }

  /** Notes a record; returns true if it is the first since a tick, or the first of all. */
  boolean observeRecord() {
    boolean first = idleSince != BUSY;
    idleSince = BUSY;
    changed |= first;
    return first;
  }

  /** Notes that a window with this end has got a row. */
  void observeWindow(long end) {
    if (end > lastEnd) {
      lastEnd = end;
      changed = true;
    }
  }

  /**
   * Processes a tick without a record since the last one, or the first tick; returns since when the
   * task is idle.
   *
   * @param begunMs ticks before this time belong to an earlier query: records that arrived in
   *     between are still to be read
   */
  long tick(long nowMs, long begunMs) {
    if (idleSince < Math.max(0, begunMs)) {
      idleSince = nowMs;
      changed = true;
    }
    return idleSince;
  }

  /** Returns the first tick without a record since the last one. */
  long since() {
    return idleSince;
  }

  /** Returns the last end of all windows that had a row. */
  long lastEnd() {
    return lastEnd;
  }

  void write(MapState<byte[], byte[]> state) {
    if (changed) {
      ByteBuffer kept = ByteBuffer.allocate(2 * Long.BYTES).putLong(idleSince).putLong(lastEnd);
      state.updateValue(IDLE, kept.array());
      changed = false;
    }
  }
}
