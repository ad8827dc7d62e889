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
 * What the tasks of an application in this JVM have done so far.
 *
 * <p>Spark tells nothing of a real-time epoch until it ends, so rates and lag come from here. Records
 * that a task reads again after a failure count again.
 *
 * <p>Each run of an application counts anew. A run's name travels in the spec, so that an executor that outlives it does
 * not add what was before. What executors of other JVMs have counted comes by {@code MetricsPlugin}, and stands
 * beside what was counted here. Threads: any.
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
  private final Map<ErrorHandlers.Stage, LongAdder> skipped = new ConcurrentHashMap<>();
  private final Skipped samples = new Skipped();
  private final Map<String, LongAdder> late = new ConcurrentHashMap<>();
  private final Map<String, Map<Integer, AtomicLong>> positions = new ConcurrentHashMap<>();

  private final Map<String, TaskCounts> tasks = new ConcurrentHashMap<>();
  private final Map<String, Map<Integer, SinkCounts>> sinks = new ConcurrentHashMap<>();

  private Metrics() {}

  /** Those of a run as {@link #runOf} names it, or of the run that the application is in, as this JVM knows it. */
  public static Metrics of(String applicationOrRun) {
    return BY_RUN.computeIfAbsent(whole(applicationOrRun), unused -> new Metrics());
  }

  /** The name of a run: no application has the character in its own. */
  public static String runOf(Spec spec) {
    return spec.applicationId() + BEFORE_RUN + (spec.run() == null ? "" : spec.run());
  }

  /** From here on the application is in the run of this spec. */
  public static void begin(Spec spec) {
    RUNS.put(spec.applicationId(), runOf(spec));
  }

  private static String whole(String applicationOrRun) {
    return applicationOrRun.indexOf(BEFORE_RUN) < 0
        ? RUNS.getOrDefault(applicationOrRun, applicationOrRun + BEFORE_RUN)
        : applicationOrRun;
  }

  /** Those of a task, by its name. */
  public TaskCounts task(String name) {
    return tasks.computeIfAbsent(name, unused -> new TaskCounts());
  }

  /** Those of a sink's topic, in a Spark partition. */
  public SinkCounts sink(String topic, int sparkPartition) {
    return sinks
        .computeIfAbsent(topic, unused -> new ConcurrentHashMap<>())
        .computeIfAbsent(sparkPartition, unused -> new SinkCounts());
  }

  /** Counts a record that is passed over; tells whether it is to be logged. */
  boolean skip(ErrorHandlers.Stage stage, Skipped.Sample sample) {
    samples.add(sample);
    LongAdder count = skipped.computeIfAbsent(stage, unused -> new LongAdder());
    count.increment();
    long counted = count.sum();
    return counted <= LOGGED_MAX || counted % LOGGED_EVERY == 0;
  }

  /** Counts records that were deleted before they were read, of one partition, from an offset on. */
  public void lost(String topic, int partition, long offset, long count) {
    ErrorHandlers.Stage stage = ErrorHandlers.Stage.RETENTION;
    String reason = "deleted before they were read";
    samples.add(
        new Skipped.Sample(stage.counter(), topic, partition, offset, null, null, "", reason), count);
    skipped.computeIfAbsent(stage, unused -> new LongAdder()).add(count);
  }

  /** Counts a record that came too late for a window, by operator. */
  void late(String operator) {
    late.computeIfAbsent(operator, unused -> new LongAdder()).increment();
  }

  /** The next offset to read of a topic partition; its only writer is the task that reads it. */
  public AtomicLong position(String topic, int partition) {
    return positions
        .computeIfAbsent(topic, unused -> new ConcurrentHashMap<>())
        .computeIfAbsent(partition, unused -> new AtomicLong());
  }

  /**
   * As JSON: {@code {"records_in", "bytes_in", "records_out", "skipped": {stage: count}, "late": {operator: count},
   * "samples":
   * [{"stage", "reason", "at", "count", "topic", "partition", "offset", "key", "value"}], "positions":
   * {topic: {partition: next offset}}, "tasks": {task: {@link TaskCounts}}, "sinks": {topic: {Spark partition: {@link
   * SinkCounts}}}, "epochs": {@link Epochs}, "executors": [the same of other JVMs]}}; bytes are those of keys and
   * values. A sample is the first record that was passed over for a reason, and how many were.
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

  /** What all runs have counted in this JVM, by their names. */
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

  /** An executor has told what it has counted so far; of a run that is over nobody wants to know, which is the answer. */
  public static boolean take(String executor, String run, String counted) {
    boolean isWanted = run.equals(RUNS.get(applicationOf(run)));
    if (isWanted) {
      OF_EXECUTORS.computeIfAbsent(run, unused -> new ConcurrentHashMap<>()).put(executor, counted);
    }
    return isWanted;
  }

  /** Whether this JVM has counted in another run of the application too: it is not told when one is over. */
  public static boolean mayBeOver(String run) {
    String application = applicationOf(run);
    return BY_RUN.keySet().stream().filter(one -> applicationOf(one).equals(application)).count() > 1;
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

  /** This run is over, in this JVM at least. */
  public static void forget(String run) {
    BY_RUN.remove(run);
    ended(run);
  }

  private Map<String, Object> toJson() {
    Map<String, Object> values = new TreeMap<>();
    values.put("records_in", recordsIn.sum());
    values.put("bytes_in", bytesIn.sum());
    values.put("records_out", recordsOut.sum());
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

  /** Starts anew; tasks that run now go on counting into what was. */
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
