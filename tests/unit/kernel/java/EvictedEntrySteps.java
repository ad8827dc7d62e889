package org.duolog.kernel.store;

import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.task.NodeContext;

/**
 * Keeps an entry of a store while others fill its memory, then changes its row. Prints what the store finds under its
 * key: then, and in the state after a flush.
 */
public final class EvictedEntrySteps {
  private static final int MIB = 1 << 20;

  private EvictedEntrySteps() {}

  public static void main(String[] args) {
    MemoryHandle handle = new MemoryHandle();
    KeyValueStore store = new KeyValueStore("store", 1, false);
    store.attach(
        handle.getMapState("store", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
    store.open(new NodeContext(new Grouping(1, 1, 1), null, false, 0));
    store.setListener((entry, old, oldTs, headers) -> {});
    handle.select(1);
    store.select(1);
    KeyValueStore.Entry held = store.lookup(row(16, 0));
    store.update(held, row(16, 1), 0, null);
    for (int key = 1; key <= 70; key++) {
      store.update(store.lookup(row(16, key)), row(MIB, key), 0, null);
    }
    store.update(held, row(16, 2), 0, null);
    System.out.println(store.lookup(row(16, 0)).row.getLong(0));
    store.flush();
    System.out.println(store.lookup(row(16, 0)).row.getLong(0));
  }

  private static UnsafeRow row(int bytes, long number) {
    UnsafeRow row = new UnsafeRow(1);
    row.pointTo(new byte[bytes], bytes);
    row.setLong(0, number);
    return row;
  }
}
