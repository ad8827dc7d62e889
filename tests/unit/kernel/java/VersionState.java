package org.duolog.kernel.store;

import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.task.NodeContext;

/**
 * Writes rows to a versioned store, in memory and without Spark.
 *
 * <p>Usage: kept REAL_TIME HISTORY_MS BUCKET_MS then, for each step, TIME and KEYS: KEYS keys get a row of that
 * time, or lose it if KEYS is negative. Each step is a micro-batch or an epoch. Prints the number of entries in the
 * state after each; two of them are the task's own.
 *
 * <p>Or: found CASES. Adds random versions, and prints each key and time for which another row is found than in a list
 * of all versions.
 */
public final class VersionState {
  private static final Grouping GROUPING = new Grouping(1, 1, 1);
  private static final long TASK = GROUPING.of(0, 0);

  private final MemoryHandle handle = new MemoryHandle();
  private final VersionRows rows;
  private final KeyValueStore store;
  private final boolean realTime;

  private VersionState(boolean realTime, long historyMs, long bucketMs) {
    this.realTime = realTime;
    handle.select(TASK);
    rows = new VersionRows("store", 1, GROUPING, historyMs, bucketMs);
    store = new KeyValueStore("store", 1, true, rows);
    store.attach(
        handle.getMapState("store", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
    open();
  }

  public static void main(String[] args) {
    if (args[0].equals("kept")) {
      kept(args);
    } else {
      for (int seed = 0; seed < Integer.parseInt(args[1]); seed++) {
        found(new Random(seed), seed);
      }
    }
  }

  private static void kept(String[] args) {
    VersionState state =
        new VersionState(
            Boolean.parseBoolean(args[1]), Long.parseLong(args[2]), Long.parseLong(args[3]));
    for (int i = 4; i < args.length; i += 2) {
      int keys = Integer.parseInt(args[i + 1]);
      for (int key = 0; key < Math.abs(keys); key++) {
        state.put(key, keys < 0 ? null : row(key), Long.parseLong(args[i]));
      }
      state.commit();
      System.out.println(state.handle.size("store"));
    }
  }

  private static void found(Random random, int seed) {
    long history = 1 + random.nextInt(40);
    boolean realTime = random.nextBoolean();
    VersionState state = new VersionState(realTime, history, 1 << random.nextInt(5));
    Map<Long, TreeMap<Long, Long>> all = new TreeMap<>();
    long streamTime = -1;
    for (long value = 0; value < 60; value++) {
      long key = random.nextInt(3);
      long ts = Math.max(0, value / 2 + random.nextInt(30) - 15);
      boolean deletion = random.nextInt(4) == 0;
      boolean expired = ts < streamTime - history;
      if (state.put(key, deletion ? null : row(value), ts) == expired) {
        System.out.println("taken:" + seed);
      }
      if (!expired) {
        all.computeIfAbsent(key, unused -> new TreeMap<>()).put(ts, deletion ? -1 : value);
        streamTime = Math.max(streamTime, ts);
      }
      if (random.nextInt(5) == 0) {
        state.commit();
      }
      all.forEach((of, versions) -> state.check(of, versions));
    }
  }

  private void check(long key, TreeMap<Long, Long> versions) {
    for (long time = 0; time < 60; time++) {
      boolean known = !rows.isOlder(time) || versions.lastKey() <= time;
      Map.Entry<Long, Long> expected = known ? versions.floorEntry(time) : null;
      boolean none = expected == null || expected.getValue() < 0;
      UnsafeRow found = rows.at(store.lookup(row(key)), time);
      boolean same =
          none
              ? found == null
              : found != null
                  && found.getLong(0) == expected.getValue()
                  && rows.foundTs() == expected.getKey();
      if (!same) {
        System.out.println(key + "@" + time);
      }
    }
  }

  /** Returns true if the version was accepted. */
  private boolean put(long key, UnsafeRow row, long ts) {
    if (rows.isExpired(ts)) {
      return false;
    }
    KeyValueStore.Entry entry = store.lookup(row(key));
    if (rows.add(entry, row, ts)) {
      if (row == null) {
        store.delete(entry);
      } else {
        store.put(entry, row, ts);
      }
    }
    return true;
  }

  private void commit() {
    if (!realTime) {
      store.flush();
    }
    open();
  }

  private void open() {
    store.open(new NodeContext(GROUPING, null, realTime, 0));
    store.select(TASK);
  }

  private static UnsafeRow row(long value) {
    UnsafeRow row = UnsafeRow.createFromByteArray(16, 1);
    row.setLong(0, value);
    return row;
  }
}
