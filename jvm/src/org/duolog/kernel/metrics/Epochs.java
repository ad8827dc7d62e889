package org.duolog.kernel.metrics;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.streaming.StateOperatorProgress;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * Collects Spark's reports about epochs and micro-batches: the time of each phase, and the size of
 * the state.
 *
 * <p>Values are summed as epochs end, so a reader that polls rarely misses none; the last epochs
 * are kept with their phases. Spark creates one listener for each of its sessions
 * ({@code spark.sql.streaming.streamingQueryListeners}). Threads: any.
 */
public final class Epochs extends StreamingQueryListener {
  private static final long serialVersionUID = 1L;
  private static final int LAST_MAX = 100;
  private static final String ALL_OF_IT = "triggerExecution";
  private static final Map<String, OfQuery> BY_APPLICATION = new ConcurrentHashMap<>();

  /**
   * The Spark queries of an application since it was started; reports about earlier ones are
   * ignored.
   */
  private static final Map<String, Set<UUID>> RUNS = new ConcurrentHashMap<>();

  /**
   * Called before the query starts; other reports arrive later, some while the next query of this
   * name runs.
   */
  @Override
  public void onQueryStarted(QueryStartedEvent event) {
    if (event.name() != null) {
      RUNS.computeIfAbsent(event.name(), unused -> ConcurrentHashMap.newKeySet())
          .add(event.runId());
    }
  }

  @Override
  public void onQueryTerminated(QueryTerminatedEvent event) {}

  @Override
  public void onQueryProgress(QueryProgressEvent event) {
    StreamingQueryProgress progress = event.progress();
    // Spark also reports at intervals if there was nothing to do; no epoch has ended then.
    if (progress.name() != null
        && progress.durationMs().containsKey("addBatch")
        && RUNS.getOrDefault(progress.name(), Set.of()).contains(progress.runId())) {
      BY_APPLICATION.computeIfAbsent(progress.name(), unused -> new OfQuery()).add(progress);
    }
  }

  /**
   * Renders {@code {"count", "phases": {phase: total ms}, "last": [{"number", "id", "started_at",
   * "records_in", "phases": {phase: ms}}…], "state": [{"rows", "bytes", "memory_bytes", "updated",
   * "removed", "commit_ms"}…]}}, with phases and numbers under Spark's names, and the state of each
   * level after the last epoch.
   */
  static Map<String, Object> toJson(String applicationId) {
    OfQuery found = BY_APPLICATION.get(applicationId);
    return (found == null ? new OfQuery() : found).toJson();
  }

  static void forget(String applicationId) {
    RUNS.remove(applicationId);
    BY_APPLICATION.remove(applicationId);
  }

  private static final class OfQuery {
    private final Map<String, Long> phases = new TreeMap<>();
    private final ArrayDeque<Map<String, Object>> last = new ArrayDeque<>();
    private List<Map<String, Object>> state = List.of();
    private long count;
    private long longestMs;

    private synchronized void add(StreamingQueryProgress progress) {
      count++;
      Map<String, Long> spent = new TreeMap<>();
      progress.durationMs().forEach((phase, ms) -> spent.put(phase, ms));
      spent.forEach((phase, ms) -> phases.merge(phase, ms, Long::sum));
      longestMs = Math.max(longestMs, spent.getOrDefault(ALL_OF_IT, 0L));
      Map<String, Object> epoch = new LinkedHashMap<>();
      epoch.put("number", count);
      epoch.put("id", progress.batchId());
      epoch.put("started_at", Instant.parse(progress.timestamp()).toEpochMilli());
      epoch.put("records_in", progress.numInputRows());
      epoch.put("phases", spent);
      last.add(epoch);
      if (last.size() > LAST_MAX) {
        last.remove();
      }
      List<Map<String, Object>> operators = new ArrayList<>();
      for (StateOperatorProgress operator : progress.stateOperators()) {
        operators.add(state(operator));
      }
      state = operators;
    }

    private static Map<String, Object> state(StateOperatorProgress operator) {
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("rows", operator.numRowsTotal());
      found.put("bytes", operator.customMetrics().getOrDefault("rocksdbSstFileSize", 0L));
      found.put("memory_bytes", operator.memoryUsedBytes());
      found.put("updated", operator.numRowsUpdated());
      found.put("removed", operator.numRowsRemoved());
      found.put("commit_ms", operator.commitTimeMs());
      return found;
    }

    private synchronized Map<String, Object> toJson() {
      Map<String, Object> found = new LinkedHashMap<>();
      found.put("count", count);
      found.put("longest_ms", longestMs);
      found.put("phases", new TreeMap<>(phases));
      found.put("last", new ArrayList<>(last));
      found.put("state", state);
      return found;
    }
  }
}
