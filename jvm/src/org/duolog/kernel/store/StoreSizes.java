package org.duolog.kernel.store;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.ttl.TTLState;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.metrics.NodeCounts;
import org.duolog.kernel.metrics.StoreCounts;
import org.duolog.kernel.record.Grouping;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts rows and bytes of a level's stores, by reading their keys when Spark commits them.
 *
 * <pre>
 *   commit      commit            commit
 *   ──┤▒▒├────────┤▒▒├──────────────┤▒├──   a slice: a hundredth of the time since the one before
 *     └──────── a pass ──────────────┘      its counts are reported; it continues after the last
 *                                           key that it has read
 * </pre>
 *
 * <p>RocksDB has no exact count: its estimate counts each update as a row, for all stores of a
 * level together. Maintaining a count would need a read of each key before it is written. The count
 * of a store that fits into a slice is exact at each commit. The count of a larger store is as old
 * as its last pass; during the first pass it is a lower bound. A store that has not changed is not
 * read.
 *
 * <p>The hook is a column family with a time to live, whose clean-up Spark calls when all records
 * of an epoch are done and the store still belongs to the task; it has no rows. Threads: the
 * task's. Source: Spark's {@code StatefulProcessorHandleImpl.doTtlCleanup}.
 */
public final class StoreSizes {
  private static final Logger LOGGER = LoggerFactory.getLogger(StoreSizes.class);
  private static final Map<String, StoreSizes> BY_PLACE = new ConcurrentHashMap<>();
  private static final String BEFORE_COMMIT = "clearExpiredStateForAllKeys";
  private static final long FIRST_NS = 50_000_000;
  private static final long LONGEST_NS = 50_000_000;
  private static final long SHORTEST_NS = 20_000;
  private static final int OF_TIME = 100;

  static {
    Metrics.onRunEnd(StoreSizes::forget);
  }

  private final Map<String, Pass> passes = new ConcurrentHashMap<>();
  private long lastNs;
  private boolean begun;

  /** A store of a level: its rows, and its sub-topology. */
  public record Counted(BytesMap map, String name, int subtopology) {}

  private StoreSizes() {}

  /**
   * Registers the stores of a Spark task to be counted when they are committed; the handle is that
   * of the task.
   */
  public static void countAtCommit(
      StatefulProcessorHandleImpl handle, String run, Grouping grouping, List<Counted> stores) {
    if (!NodeCounts.ON || stores.isEmpty()) {
      return;
    }
    List<Counted> counted = new ArrayList<>(stores);
    Object hook =
        Proxy.newProxyInstance(
            TTLState.class.getClassLoader(),
            new Class<?>[] {TTLState.class},
            (self, method, args) ->
                switch (method.getName()) {
                  case BEFORE_COMMIT -> {
                    count(run, grouping, counted);
                    yield 0L;
                  }
                  case "equals" -> self == args[0];
                  case "hashCode" -> System.identityHashCode(self);
                  case "toString", "stateName" -> "sizes of stores";
                  default -> throw new UnsupportedOperationException(method.toString());
                });
    handle.ttlStates().add((TTLState) hook);
  }

  /** Discards the counts of a run. */
  private static void forget(String run) {
    BY_PLACE.keySet().removeIf(place -> place.startsWith(run + "/"));
  }

  /** An error here must not fail the epoch: the previous counts stay. */
  private static void count(String run, Grouping grouping, List<Counted> stores) {
    try {
      // A store is in one level only.
      String place = run + "/" + stores.get(0).name() + "/" + TaskContext.getPartitionId();
      BY_PLACE
          .computeIfAbsent(place, unused -> new StoreSizes())
          .slice(Metrics.of(run), grouping, stores);
    } catch (RuntimeException e) {
      LOGGER.debug("cannot count the rows of stores", e);
    }
  }

  private synchronized void slice(Metrics metrics, Grouping grouping, List<Counted> stores) {
    long start = System.nanoTime();
    for (Counted store : stores) {
      pass(store, grouping).changed |= store.map().takeChanged();
    }
    long budget = begun ? Math.min((start - lastNs) / OF_TIME, LONGEST_NS) : FIRST_NS;
    if (budget < SHORTEST_NS) {
      return;
    }
    begun = true;
    // The store that has waited longest is first; otherwise a large store would starve the others.
    List<Counted> inTurn = new ArrayList<>(stores);
    inTurn.sort((one, other) -> Long.compare(pass(one, grouping).at, pass(other, grouping).at));
    for (Counted store : inTurn) {
      if (System.nanoTime() - start >= budget) {
        break;
      }
      pass(store, grouping).resume(metrics, grouping, store, start + budget);
    }
    lastNs = System.nanoTime();
  }

  private Pass pass(Counted store, Grouping grouping) {
    return passes.computeIfAbsent(store.name(), unused -> new Pass(grouping.tasks()));
  }

  /** Rows and bytes of one store, as the last complete pass has found them. */
  private static final class Pass {
    private final long[] rows;
    private final long[] bytes;
    private byte[] cursor;
    private boolean changed = true;
    private long at;

    Pass(int tasks) {
      rows = new long[tasks];
      bytes = new long[tasks];
    }

    void resume(Metrics metrics, Grouping grouping, Counted store, long untilNs) {
      if (cursor == null) {
        if (!changed) {
          return;
        }
        changed = false;
        Arrays.fill(rows, 0);
        Arrays.fill(bytes, 0);
      }
      cursor =
          store
              .map()
              .sizes(
                  cursor,
                  untilNs,
                  (number, size) -> {
                    int task = (int) (Grouping.owner(number) % grouping.tasks());
                    rows[task]++;
                    bytes[task] += size;
                  });
      at = System.currentTimeMillis();
      report(metrics, grouping, store);
    }

    private void report(Metrics metrics, Grouping grouping, Counted store) {
      int partition = TaskContext.getPartitionId();
      for (int task = 0; task < rows.length; task++) {
        if (grouping.sparkPartition(task) == partition) {
          StoreCounts counts =
              metrics.task(store.subtopology() + "_" + task).store(store.name());
          counts.set(rows[task], bytes[task], cursor == null, at);
        }
      }
    }
  }
}
