package org.duolog.kernel;

import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.duolog.kernel.kafka.Producers;
import org.duolog.kernel.kafka.QueryWriter;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.python.ProcessorWorkers;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.spec.Spec;

/** Starts a query that writes a chain's envelopes to Kafka. */
public final class Launcher {
  private Launcher() {}

  /**
   * Starts the query.
   *
   * @param options checkpointLocation (required), queryName, trigger (micro-batch, available-now or
   *     real-time), epoch (of real-time, such as "60 seconds"), interval (of micro-batch), and
   *     {@code kafka.*} for the producer
   */
  public static StreamingQuery start(
      Dataset<Envelope> records, String specJson, Map<String, String> options)
      throws TimeoutException {
    Spec spec = Spec.parse(specJson);
    ProcessorWorkers.begin(
        spec.applicationId(), ProcessorWorkers.run(Metrics.runOf(spec), spec.launch()));
    return QueryWriter.of(records, spec, options).trigger(trigger(spec, options)).start();
  }

  /** Closes the producers of this JVM that no task uses; to be called when a query has ended. */
  public static void closeUnusedProducers() {
    Producers.closeUnused();
  }

  private static Trigger trigger(Spec spec, Map<String, String> options) {
    String trigger = options.getOrDefault("trigger", "micro-batch");
    if (trigger.equals("real-time") != spec.realTime()) {
      throw new IllegalArgumentException(
          "trigger " + trigger + " does not fit a spec with real_time " + spec.realTime());
    }
    return switch (trigger) {
      case "micro-batch" ->
          Trigger.ProcessingTime(options.getOrDefault("interval", "0 seconds"));
      case "available-now" -> Trigger.AvailableNow();
      case "real-time" -> Trigger.RealTime(QueryWriter.required(options, "epoch"));
      default -> throw new IllegalArgumentException("unknown trigger: " + trigger);
    };
  }
}
