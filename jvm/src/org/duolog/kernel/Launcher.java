package org.duolog.kernel;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;

/** Starts a query that writes a chain's envelopes to Kafka. */
public final class Launcher {
  private static final String PRODUCER_PREFIX = "kafka.";

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
    return writing(records, spec, options).trigger(trigger(spec, options)).start();
  }

  /** A query that writes the envelopes for sinks, without its trigger. */
  static DataStreamWriter<Envelope> writing(
      Dataset<Envelope> records, Spec spec, Map<String, String> options) {
    checkShufflePartitions(records, spec);
    DataStreamWriter<Envelope> writer =
        records
            .writeStream()
            .outputMode("update")
            .option("checkpointLocation", required(options, "checkpointLocation"))
            .foreach(
                new Sink(
                    spec,
                    required(options, "checkpointLocation"),
                    producerSettings(options),
                    onCluster(records, spec, options)));
    if (options.containsKey("queryName")) {
      writer = writer.queryName(options.get("queryName"));
    }
    return writer;
  }

  /** What tasks of other JVMs write results once with; null where they are in this one, or write at least once. */
  private static ExecutorTransactions.Claim onCluster(
      Dataset<Envelope> records, Spec spec, Map<String, String> options) {
    Transactions transactions =
        spec.exactlyOnce()
            ? Transactions.of(Path.of(required(options, "checkpointLocation")))
            : null;
    return transactions == null
        ? null
        : transactions.handOut(records.sparkSession().sparkContext());
  }

  /** Closes the producers of this JVM that no task has; call it when a query has ended. */
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
      case "real-time" -> Trigger.RealTime(required(options, "epoch"));
      default -> throw new IllegalArgumentException("unknown trigger: " + trigger);
    };
  }

  /** The grouping values were made for this number; another one would scatter the tasks. */
  private static void checkShufflePartitions(Dataset<Envelope> records, Spec spec) {
    String actual = records.sparkSession().conf().get("spark.sql.shuffle.partitions");
    if (!actual.equals(String.valueOf(spec.shufflePartitions()))) {
      throw new IllegalStateException(
          String.format(
              "spark.sql.shuffle.partitions is %s, the spec says %d",
              actual, spec.shufflePartitions()));
    }
  }

  private static String required(Map<String, String> options, String name) {
    String value = options.get(name);
    if (value == null) {
      throw new IllegalArgumentException("option " + name + " is missing");
    }
    return value;
  }

  private static Map<String, String> producerSettings(Map<String, String> options) {
    Map<String, String> settings = new HashMap<>();
    options.forEach(
        (name, value) -> {
          if (name.startsWith(PRODUCER_PREFIX)) {
            settings.put(name.substring(PRODUCER_PREFIX.length()), value);
          }
        });
    return settings;
  }
}
