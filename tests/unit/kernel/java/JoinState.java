package org.duolog.kernel.store;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/**
 * Stores records of one side of a stream-stream join, in memory and without Spark, and prints what is found.
 *
 * <p>Usage: REAL_TIME WINDOW_MS GRACE_MS STORE, then steps, each a micro-batch or an epoch. For the store {@code rows},
 * TIME KEYS ROWS: adds rows with this time to KEYS keys; prints the number of entries in the state, and of rows that
 * key 0 finds in the window before TIME. For {@code unmatched}, the same; then all records before TIME - WINDOW are
 * emitted: prints the number of entries, and the keys in order.
 */
public final class JoinState {
  private static final Grouping GROUPING = new Grouping(1, 1, 1);
  private static final long TASK = GROUPING.of(0, 0);

  private JoinState() {}

  public static void main(String[] args) {
    NodeContext scope = new NodeContext(GROUPING, null, Boolean.parseBoolean(args[0]), 0);
    long windowMs = Long.parseLong(args[1]);
    MemoryHandle handle = new MemoryHandle();
    handle.select(TASK);
    StreamJoinRows rows = new StreamJoinRows("store", 1, windowMs, windowMs + Long.parseLong(args[2]), GROUPING);
    UnmatchedJoinRows unmatched = new UnmatchedJoinRows("store", 1, 1, windowMs, GROUPING);
    Store store = args[3].equals("rows") ? rows : unmatched;
    store.attach(
        handle.getMapState("store", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
    for (int i = 4; i < args.length; i += 3) {
      long ts = Long.parseLong(args[i]);
      store.open(scope);
      unmatched.orderBy(key -> new byte[] {(byte) key.getLong(0)});
      store.select(TASK);
      for (int n = Integer.parseInt(args[i + 2]); n > 0; n--) {
        for (int key = Integer.parseInt(args[i + 1]) - 1; key >= 0; key--) {
          if (store == rows) {
            rows.add(row(key), row(n), ts);
          } else {
            unmatched.add(row(key), row(n), ts);
          }
        }
      }
      List<Object> found = new ArrayList<>();
      if (store == rows) {
        found.add(rows.find(row(0), ts - windowMs, ts).size());
      } else {
        while (unmatched.first(ts - windowMs) < Long.MAX_VALUE) {
          unmatched.take((key, row, at) -> found.add(at + ":" + key.getLong(0)));
        }
      }
      if (!scope.realTime) {
        store.flush();
      }
      String told = String.join(",", found.stream().map(Object::toString).toList());
      System.out.println(handle.size("store") + " " + (told.isEmpty() ? "nothing" : told));
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
