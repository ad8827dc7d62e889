package org.duolog.kernel;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * What the tasks of an application in this JVM have done so far.
 *
 * <p>Spark tells nothing of a real-time epoch until it ends, so rates and lag come from here. Records
 * that a task reads again after a failure count again. Threads: any.
 */
public final class Metrics {
  private static final Map<String, Metrics> BY_APPLICATION = new ConcurrentHashMap<>();
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int LOGGED_MAX = 100;
  private static final int LOGGED_EVERY = 1000;

  final LongAdder recordsIn = new LongAdder();
  final LongAdder bytesIn = new LongAdder();
  final LongAdder recordsOut = new LongAdder();
  private final Map<ErrorHandlers.Stage, LongAdder> skipped = new ConcurrentHashMap<>();
  private final Skipped samples = new Skipped();
  private final Map<String, LongAdder> late = new ConcurrentHashMap<>();
  private final Map<String, Map<Integer, AtomicLong>> positions = new ConcurrentHashMap<>();

  private Metrics() {}

  static Metrics of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new Metrics());
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
  void lost(String topic, int partition, long offset, long count) {
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
  AtomicLong position(String topic, int partition) {
    return positions
        .computeIfAbsent(topic, unused -> new ConcurrentHashMap<>())
        .computeIfAbsent(partition, unused -> new AtomicLong());
  }

  /**
   * As JSON: {@code {"records_in", "bytes_in", "records_out", "skipped": {stage: count}, "late": {operator: count},
   * "samples":
   * [{"stage", "reason", "at", "count", "topic", "partition", "offset", "key", "value"}], "positions":
   * {topic: {partition: next offset}}}}; bytes are those of keys and values. A sample is the first
   * record that was passed over for a reason, and how many were.
   */
  public static String snapshot(String applicationId) {
    Metrics metrics = of(applicationId);
    Map<String, Object> values = new TreeMap<>();
    values.put("records_in", metrics.recordsIn.sum());
    values.put("bytes_in", metrics.bytesIn.sum());
    values.put("records_out", metrics.recordsOut.sum());
    Map<String, Long> skipped = new TreeMap<>();
    metrics.skipped.forEach(
        (stage, count) -> skipped.merge(stage.counter(), count.sum(), Long::sum));
    values.put("skipped", skipped);
    values.put("samples", metrics.samples.toJson());
    Map<String, Long> late = new TreeMap<>();
    metrics.late.forEach((operator, count) -> late.put(operator, count.sum()));
    values.put("late", late);
    values.put("positions", metrics.positions);
    try {
      return MAPPER.writeValueAsString(values);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Starts anew; tasks that run now go on counting into what was. */
  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
    PartitionTimes.forget(applicationId);
    IdleTicks.reset(applicationId);
  }
}
