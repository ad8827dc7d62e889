package org.duolog.kernel.store;

import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.task.NodeContext;

/**
 * Updates keys of a {@link KeyValueStore} with a record cache, in memory and without Spark.
 *
 * <p>Usage: CACHE_BYTES then, for each step, KEYS and ROW_BYTES: the keys 0, 1, 2 … get rows of that size. Prints after
 * each step how many updates the listener has received in total.
 */
public final class RecordCache {
  private static final long TASK = 1;

  private RecordCache() {}

  public static void main(String[] args) {
    MemoryHandle handle = new MemoryHandle();
    KeyValueStore store = new KeyValueStore("store", 1, false);
    store.attach(
        handle.getMapState("store", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
    store.open(new NodeContext(new Grouping(1, 1, 1), null, false, Long.parseLong(args[0])));
    int[] told = new int[1];
    store.setListener((entry, old, oldTs, headers) -> told[0]++);
    handle.select(TASK);
    store.select(TASK);
    for (int i = 1; i < args.length; i += 2) {
      for (int key = 0; key < Integer.parseInt(args[i]); key++) {
        store.update(store.lookup(row(16, key)), row(Integer.parseInt(args[i + 1]), key), 0, null);
      }
      System.out.println(told[0]);
    }
    store.forwardUpdates();
    store.flush();
    System.out.println(told[0]);
  }

  private static UnsafeRow row(int bytes, long number) {
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(new byte[bytes], bytes);
    row.setLong(0, number);
    return row;
  }
}
