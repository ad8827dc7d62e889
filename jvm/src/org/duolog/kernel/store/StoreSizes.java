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
 * How many rows and bytes the stores of a level have, counted by reading their keys where Spark commits them.
 *
 * <pre>
 *   commit      commit            commit
 *   ──┤▒▒├────────┤▒▒├──────────────┤▒├──   a slice: a hundredth of the time since the one before
 *     └──────── a pass ──────────────┘      what it has found is told; it goes on behind the last key that it saw
 * </pre>
 *
 * <p>RocksDB has no count: its own estimate takes each update for a row, and is one for all stores of a level. A count
 * that is kept would read each key once more before it is written. A store that fits into a slice is told as it is
 * committed; that of a larger one is as old as a pass, whose first one tells what it has seen so far. A store that has not
 * changed is not read.
 *
 * <p>Spark cleans up rows with a time to live when all records of an epoch are done, with the store still its task's own: this is
 * one that has none. Threads: the task's. Source: Spark's {@code StatefulProcessorHandleImpl.doTtlCleanup}.
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

  /** A store of a level: who has its rows, and which sub-topology it is of. */
  public record Counted(BytesMap map, String name, int subtopology) {}

  private StoreSizes() {}

  /** Has the stores of a task of Spark's counted when it commits them; the handle is that of the task. */
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

  /** Forgets what was counted in a run. */
  private static void forget(String run) {
    BY_PLACE.keySet().removeIf(place -> place.startsWith(run + "/"));
  }

  /** Nothing that goes wrong here is the epoch's fault: what is told stays as it was. */
  private static void count(String run, Grouping grouping, List<Counted> stores) {
    try {
      // A store is in one level only.
      String place = run + "/" + stores.get(0).name() + "/" + TaskContext.getPartitionId();
      BY_PLACE
          .computeIfAbsent(place, unused -> new StoreSizes())
          .slice(Metrics.of(run), grouping, stores);
    } catch (RuntimeException e) {
      LOGGER.debug("cannot count what stores have", e);
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
    // Who has waited longest comes first, or a large store would keep the others from their turn.
    List<Counted> inTurn = new ArrayList<>(stores);
    inTurn.sort((one, other) -> Long.compare(pass(one, grouping).at, pass(other, grouping).at));
    for (Counted store : inTurn) {
      if (System.nanoTime() - start >= budget) {
        break;
      }
      pass(store, grouping).goOn(metrics, grouping, store, start + budget);
    }
    lastNs = System.nanoTime();
  }

  private Pass pass(Counted store, Grouping grouping) {
    return passes.computeIfAbsent(store.name(), unused -> new Pass(grouping.tasks()));
  }

  /** Rows and bytes of one store, as the last look from its first key to its last one has found them. */
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

    void goOn(Metrics metrics, Grouping grouping, Counted store, long untilNs) {
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
      tell(metrics, grouping, store);
    }

    private void tell(Metrics metrics, Grouping grouping, Counted store) {
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
