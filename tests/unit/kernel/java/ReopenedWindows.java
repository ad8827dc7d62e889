package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Grouping;

/**
 * Starts a task after a repartition, with rows that its earlier task had emitted up to an end, and a longer grace
 * period; then starts it again, later in stream time. In memory and without Spark.
 *
 * <p>Usage: TOLD OPEN LATER: rows were emitted up to TOLD; the first start reopens windows that end after OPEN, the
 * next one those after LATER. Prints up to which end rows count as emitted before, at the first start and at the next.
 */
public final class ReopenedWindows {
  private static final byte[] TOLD_BEFORE = {4};
  private static final byte[] ANY_KEY = {};

  private ReopenedWindows() {}

  public static void main(String[] args) {
    MemoryHandle handle = new MemoryHandle();
    handle.select(new Grouping(1, 1, 1).of(0, 0));
    MapState<byte[], byte[]> state =
        handle.getMapState("store", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    long told = Long.parseLong(args[0]);
    ByteBuffer of = ByteBuffer.allocate(3 * Integer.BYTES + 3 * Long.BYTES);
    of.putInt(1).putInt(0).putLong(told).putLong(told).putLong(Long.MAX_VALUE).putInt(0);
    state.updateValue(TOLD_BEFORE, of.array());
    for (int start = 1; start < args.length; start++) {
      WindowTask task = new WindowTask(state, true, false, new WindowIndex(state, false), null);
      task.openFrom(Long.parseLong(args[start]));
      System.out.println(task.migrated.before(ANY_KEY));
      // The first record has advanced stream time.
      task.moved = true;
      task.write(state);
    }
  }
}
