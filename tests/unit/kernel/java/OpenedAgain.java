package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Grouping;

/**
 * A task starts behind a repartition, where rows had been told up to an end by the task before it, with a grace period
 * that has grown; then it starts again, later in stream time. In memory and without Spark.
 *
 * <p>Usage: TOLD OPEN LATER: rows were told up to TOLD; the first start opens windows that end behind OPEN, the next one
 * those behind LATER. Prints up to which end rows count as told before it, at the first start and at the next.
 */
public final class OpenedAgain {
  private static final byte[] TOLD_BEFORE = {4};
  private static final byte[] ANY_KEY = {};

  private OpenedAgain() {}

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
      // The first record has moved stream time on.
      task.moved = true;
      task.write(state);
    }
  }
}
