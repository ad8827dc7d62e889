package org.duolog.kernel.store.window;

import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.HoppingWindows;
import org.duolog.kernel.spec.Windows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.task.NodeContext;

/**
 * Writes rows of windows to a store, in memory and without Spark, and prints how many remain.
 *
 * <p>Usage: REAL_TIME SIZE_MS GRACE_MS then, for each step, TIME and KEYS: KEYS keys get a row in the window of that
 * time. Each step is a micro-batch or an epoch. Prints the number of entries in the state after each; two of them are
 * the task's own.
 */
public final class WindowState {
  private static final Grouping GROUPING = new Grouping(1, 1, 1);
  private static final long TASK = GROUPING.of(0, 0);

  private WindowState() {}

  public static void main(String[] args) {
    boolean realTime = Boolean.parseBoolean(args[0]);
    long size = Long.parseLong(args[1]);
    Windows windows = new HoppingWindows(size, size, 0, Long.parseLong(args[2]));
    MemoryHandle handle = new MemoryHandle();
    handle.select(TASK);
    WindowRows rows = new WindowRows("store", 3, GROUPING, windows);
    KeyValueStore store = new KeyValueStore("store", 1, false, rows);
    store.attach(
        handle.getMapState("store", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
    for (int i = 3; i < args.length; i += 2) {
      store.open(new NodeContext(GROUPING, null, realTime, 0));
      store.setListener((entry, old, oldTs, headers) -> {});
      store.select(TASK);
      long ts = Long.parseLong(args[i]);
      long start = windows.firstStart(ts);
      for (int key = 0; key < Integer.parseInt(args[i + 1]); key++) {
        rows.observe(ts);
        if (!rows.isClosed(windows.end(start))) {
          store.update(store.lookup(row(key, start, windows.end(start))), row(1), ts, null);
        }
      }
      if (!realTime) {
        store.forwardUpdates();
        store.flush();
      }
      System.out.println(handle.size("store"));
    }
  }

  private static UnsafeRow row(long... columns) {
    UnsafeRow row = UnsafeRow.createFromByteArray(8 + 8 * columns.length, columns.length);
    for (int i = 0; i < columns.length; i++) {
      row.setLong(i, columns[i]);
    }
    return row;
  }
}
