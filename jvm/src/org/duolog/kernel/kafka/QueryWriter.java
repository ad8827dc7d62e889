package org.duolog.kernel.kafka;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.duolog.kernel.commit.ExecutorTransactions;
import org.duolog.kernel.commit.Transactions;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.spec.Spec;

/** Builds the query that writes a chain's envelopes to Kafka. */
public final class QueryWriter {
  private static final String PRODUCER_PREFIX = "kafka.";

  private QueryWriter() {}

  /** Returns the query that writes the envelopes for sinks, without its trigger. */
  public static DataStreamWriter<Envelope> of(
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

  /**
   * Returns what tasks in other JVMs need to write exactly once; null if tasks are in this JVM, or
   * write at least once.
   */
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

  /**
   * The grouping numbers were computed for this number of partitions; another number would
   * distribute tasks wrongly.
   */
  private static void checkShufflePartitions(Dataset<Envelope> records, Spec spec) {
    String actual = records.sparkSession().conf().get("spark.sql.shuffle.partitions");
    if (!actual.equals(String.valueOf(spec.shufflePartitions()))) {
      throw new IllegalStateException(
          String.format(
              "spark.sql.shuffle.partitions is %s, expected %d as in the spec",
              actual, spec.shufflePartitions()));
    }
  }

  /** Returns the value of a required option. */
  public static String required(Map<String, String> options, String name) {
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
