package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import org.apache.spark.sql.streaming.MapState;

/**
 * Since when a task of windows is idle, in ticks: so what it does follows from what it was given, and is the same
 * when a micro-batch runs again.
 *
 * <pre>
 *   task, 3  ->  the first tick without a record since the last one, or -1; the last end of a window      8 bytes each
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

  /** A record was seen; returns whether it is the first one since a tick, or of all. */
  boolean seen() {
    boolean first = idleSince != BUSY;
    idleSince = BUSY;
    changed |= first;
    return first;
  }

  /** A window with this end has got a row. */
  void made(long end) {
    if (end > lastEnd) {
      lastEnd = end;
      changed = true;
    }
  }

  /**
   * No record was seen since the last tick, or this is the first one; returns since when there is none.
   *
   * @param begunMs a tick before it was of an earlier query: what came while none ran is still to be read
   */
  long tick(long nowMs, long begunMs) {
    if (idleSince < Math.max(0, begunMs)) {
      idleSince = nowMs;
      changed = true;
    }
    return idleSince;
  }

  /** The first tick without a record since the last one. */
  long since() {
    return idleSince;
  }

  /** The last end of all windows that had a row. */
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
