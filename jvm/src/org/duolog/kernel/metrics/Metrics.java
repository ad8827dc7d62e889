package org.duolog.kernel.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.duolog.kernel.record.IdleTicks;
import org.duolog.kernel.record.PartitionTimes;
import org.duolog.kernel.spec.Spec;

/**
 * Counts the work of an application's tasks in this JVM.
 *
 * <p>Spark reports nothing about a real-time epoch until it ends, so rates and lag come from here.
 * Records that a task reads again after a failure count again.
 *
 * <p>Each run of an application counts from zero. The spec carries the name of the run, so an
 * executor that outlives a run does not add to the next one. Counts of executors in other JVMs
 * arrive through {@code MetricsPlugin}, and are kept separately from those of this JVM. Threads:
 * any.
 */
public final class Metrics {
  private static final Map<String, Metrics> BY_RUN = new ConcurrentHashMap<>();
  private static final Map<String, String> RUNS = new ConcurrentHashMap<>();
  private static final Map<String, Map<String, String>> OF_EXECUTORS = new ConcurrentHashMap<>();
  private static final List<Consumer<String>> RUN_END_LISTENERS = new CopyOnWriteArrayList<>();
  private static final char BEFORE_RUN = '#';
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int LOGGED_MAX = 100;
  private static final int LOGGED_EVERY = 1000;

  public final LongAdder recordsIn = new LongAdder();
  public final LongAdder bytesIn = new LongAdder();
  public final LongAdder recordsOut = new LongAdder();

  /** Calls in expressions that have failed and returned null. */
  final LongAdder failedCalls = new LongAdder();

  final EntryLimit entryLimit = new EntryLimit();
  private final Map<ErrorHandlers.Stage, LongAdder> skipped = new ConcurrentHashMap<>();
  private final Skipped samples = new Skipped();
  private final Map<String, LongAdder> late = new ConcurrentHashMap<>();
  private final Map<String, Map<Integer, AtomicLong>> positions = new ConcurrentHashMap<>();

  private final Map<String, TaskCounts> tasks = new ConcurrentHashMap<>();
  private final Map<String, Map<Integer, SinkCounts>> sinks = new ConcurrentHashMap<>();

  private Metrics() {}

  /**
   * Returns the metrics of a run as {@link #runOf} names it, or of the current run of an
   * application in this JVM.
   */
  public static Metrics of(String applicationOrRun) {
    return BY_RUN.computeIfAbsent(whole(applicationOrRun), unused -> new Metrics());
  }

  /** Returns the name of a run. No application has the separator in its own name. */
  public static String runOf(Spec spec) {
    return spec.applicationId() + BEFORE_RUN + (spec.run() == null ? "" : spec.run());
  }

  /** Makes the run of this spec the current one of its application. */
  public static void begin(Spec spec) {
    RUNS.put(spec.applicationId(), runOf(spec));
  }

  private static String whole(String applicationOrRun) {
    return applicationOrRun.indexOf(BEFORE_RUN) < 0
        ? RUNS.getOrDefault(applicationOrRun, applicationOrRun + BEFORE_RUN)
        : applicationOrRun;
  }

  /** Returns the counters of a task. */
  public TaskCounts task(String name) {
    return tasks.computeIfAbsent(name, unused -> new TaskCounts());
  }

  /** Returns the counters of a sink topic in a Spark partition. */
  public SinkCounts sink(String topic, int sparkPartition) {
    return sinks
        .computeIfAbsent(topic, unused -> new ConcurrentHashMap<>())
        .computeIfAbsent(sparkPartition, unused -> new SinkCounts());
  }

  /** Counts a skipped record; returns true if it is to be logged. */
  boolean skip(ErrorHandlers.Stage stage, Skipped.Sample sample) {
    samples.add(sample);
    LongAdder count = skipped.computeIfAbsent(stage, unused -> new LongAdder());
    count.increment();
    long counted = count.sum();
    return counted <= LOGGED_MAX || counted % LOGGED_EVERY == 0;
  }

  /**
   * Counts records of a partition that were deleted before they were read, starting at an offset.
   */
  public void lost(String topic, int partition, long offset, long count) {
    ErrorHandlers.Stage stage = ErrorHandlers.Stage.RETENTION;
    String reason = "deleted before they were read";
    samples.add(
        new Skipped.Sample(stage.counter(), topic, partition, offset, null, null, "", reason),
        count);
    skipped.computeIfAbsent(stage, unused -> new LongAdder()).add(count);
  }

  /** Counts a record that was too late for a window, by operator. */
  void late(String operator) {
    late.computeIfAbsent(operator, unused -> new LongAdder()).increment();
  }

  /**
   * Returns the next offset to read of a topic partition; only the task that reads the partition
   * writes it.
   */
  public AtomicLong position(String topic, int partition) {
    return positions
        .computeIfAbsent(topic, unused -> new ConcurrentHashMap<>())
        .computeIfAbsent(partition, unused -> new AtomicLong());
  }

  /**
   * Returns the counts of an application as JSON:
   * {@code {"records_in", "bytes_in", "records_out", "failed_calls", "skipped": {stage: count},
   * "late": {operator: count}, "samples": [{"stage", "reason", "at", "count", "topic", "partition",
   * "offset", "key", "value"}], "positions": {topic: {partition: next offset}}, "tasks": {task:
   * {@link TaskCounts}}, "sinks": {topic: {Spark partition: {@link SinkCounts}}}, "epochs":
   * {@link Epochs}, "executors": [the same of other JVMs]}}. Bytes are those of keys and values. A
   * sample is the first record that was skipped for a reason, with the number of such records.
   */
  public static String snapshot(String applicationId) {
    String run = whole(applicationId);
    Map<String, Object> values = of(run).toJson();
    values.put("epochs", Epochs.toJson(applicationId));
    List<JsonNode> others = new ArrayList<>();
    try {
      for (String other : OF_EXECUTORS.getOrDefault(run, Map.of()).values()) {
        others.add(MAPPER.readTree(other));
      }
      values.put("executors", others);
      return MAPPER.writeValueAsString(values);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the counts of all runs in this JVM, by their names. */
  public static Map<String, String> ofThisJvm() {
    Map<String, String> all = new HashMap<>();
    BY_RUN.forEach(
        (run, metrics) -> {
          try {
            all.put(run, MAPPER.writeValueAsString(metrics.toJson()));
          } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
          }
        });
    return all;
  }

  /**
   * Takes the counts of an executor; returns false if the run has ended, so that the executor can
   * stop sending them.
   */
  public static boolean take(String executor, String run, String counted) {
    boolean isWanted = run.equals(RUNS.get(applicationOf(run)));
    if (isWanted) {
      OF_EXECUTORS.computeIfAbsent(run, unused -> new ConcurrentHashMap<>()).put(executor, counted);
    }
    return isWanted;
  }

  /**
   * Returns true if this JVM has counted in other runs of the application too, so that this one may
   * have ended unnoticed.
   */
  public static boolean mayBeOver(String run) {
    String application = applicationOf(run);
    return BY_RUN.keySet().stream().filter(one -> applicationOf(one).equals(application)).count()
        > 1;
  }

  private static String applicationOf(String run) {
    return run.substring(0, run.indexOf(BEFORE_RUN));
  }

  /** Calls {@code listener} with the name of each run that ends in this JVM. */
  public static void onRunEnd(Consumer<String> listener) {
    RUN_END_LISTENERS.add(listener);
  }

  private static void ended(String run) {
    RUN_END_LISTENERS.forEach(listener -> listener.accept(run));
  }

  /** Ends a run in this JVM. */
  public static void forget(String run) {
    BY_RUN.remove(run);
    ended(run);
  }

  private Map<String, Object> toJson() {
    Map<String, Object> values = new TreeMap<>();
    values.put("records_in", recordsIn.sum());
    values.put("bytes_in", bytesIn.sum());
    values.put("records_out", recordsOut.sum());
    values.put("failed_calls", failedCalls.sum());
    Map<String, Long> skips = new TreeMap<>();
    skipped.forEach((stage, count) -> skips.merge(stage.counter(), count.sum(), Long::sum));
    values.put("skipped", skips);
    values.put("samples", samples.toJson());
    Map<String, Long> lates = new TreeMap<>();
    late.forEach((operator, count) -> lates.put(operator, count.sum()));
    values.put("late", lates);
    values.put("positions", positions);
    Map<String, Object> ofTasks = new TreeMap<>();
    tasks.forEach((task, counts) -> ofTasks.put(task, counts.toJson()));
    values.put("tasks", ofTasks);
    Map<String, Map<Integer, Object>> ofSinks = new TreeMap<>();
    sinks.forEach(
        (topic, parts) -> {
          Map<Integer, Object> found = ofSinks.computeIfAbsent(topic, unused -> new TreeMap<>());
          parts.forEach((partition, counts) -> found.put(partition, counts.toJson()));
        });
    values.put("sinks", ofSinks);
    return values;
  }

  /**
   * Resets an application's counts. Tasks that are still running keep counting into the old ones.
   */
  public static void reset(String applicationId) {
    String before = whole(applicationId);
    RUNS.remove(applicationId);
    BY_RUN.remove(before);
    BY_RUN.remove(whole(applicationId));
    OF_EXECUTORS.remove(before);
    ended(before);
    Epochs.forget(applicationId);
    PartitionTimes.forget(applicationId);
    IdleTicks.reset(applicationId);
  }
}
