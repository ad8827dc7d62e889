package org.duolog.kernel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.util.LongAccumulator;
import org.duolog.kernel.commit.HadoopDefaults;
import org.duolog.kernel.kafka.SourceRegistry;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.state.InitialState;
import org.duolog.kernel.state.LevelWithInitialState;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.topology.InitialEntry;
import org.duolog.kernel.topology.Level;
import org.duolog.kernel.topology.MultiTopicReader;
import org.duolog.kernel.topology.TopicReader;
import org.duolog.kernel.topology.Topology;

/**
 * The entry point for Python: builds everything between Kafka's source and Kafka's sink.
 *
 * <pre>  source rows -> Ingress -> Level -> Level -> … -> envelopes for {@code Sink}
 * </pre>
 *
 * <p>Threads: the driver's; queries may be built at the same time.
 */
public final class Kernel {
  private static final Encoder<SourceRecord> SOURCE_RECORD = Encoders.bean(SourceRecord.class);
  private static final Map<String, LongAccumulator> CORRUPT_RECORDS = new ConcurrentHashMap<>();

  private Kernel() {}

  /** Registers the SQL functions that expressions may use; once per session. */
  public static void register(SparkSession spark) {
    Functions.register(spark);
  }

  /**
   * Builds the chain of levels over source rows: one dataset for each input, of one or more topics,
   * in the order of the spec's sources.
   *
   * <p>A source has the columns of Kafka's source: key, value, partition, offset, timestamp or
   * timestamp_ms (BIGINT), and headers if they are to be carried.
   */
  public static Dataset<Envelope> apply(List<Dataset<Row>> sources, String specJson) {
    return apply(sources, specJson, null, null);
  }

  /**
   * The same with sources in the format {@code OrderedKafka}.
   *
   * @param horizon their option of this name
   * @param keptStores the initial content of stores in a fresh checkpoint ({@link InitialState});
   *     null for none
   */
  public static Dataset<Envelope> apply(
      List<Dataset<Row>> sources, String specJson, String horizon, String keptStores) {
    Spec spec = Spec.parse(specJson);
    Metrics.begin(spec);
    long inputCount = spec.sources().stream().map(Spec.Source::input).distinct().count();
    if (sources.isEmpty() || sources.size() != inputCount) {
      throw new IllegalArgumentException(
          sources.size() + " datasets for " + inputCount + " topics");
    }
    SparkSession spark = sources.get(0).sparkSession();
    HadoopDefaults.forget(spark.sparkContext());
    Topology topology = new Topology(spec, spark);
    CORRUPT_RECORDS.put(spec.applicationId(), topology.corruptRecords());

    List<Dataset<Envelope>> inputs = new ArrayList<>();
    PartitionRouting direct = topology.direct();
    for (List<TopicReader> readers : topology.inputs()) {
      Dataset<Row> rows = sources.get(inputs.size());
      boolean alone = readers.size() == 1;
      if (Arrays.equals(rows.columns(), Envelope.ENCODER.schema().fieldNames())) {
        MultiTopicReader reader = new MultiTopicReader(readers);
        SourceRegistry.put(horizon, inputs.size(), new SourceRegistry.Route(reader, direct));
        inputs.add(rows.as(Envelope.ENCODER));
      } else {
        inputs.add(
            sourceRecords(rows, alone)
                .mapPartitions(
                    alone ? readers.get(0) : new MultiTopicReader(readers), Envelope.ENCODER));
      }
    }
    Dataset<Envelope> records = inputs.stream().reduce(Dataset::union).orElseThrow();
    InitialState kept = new InitialState(InitialState.parse(keptStores), topology);
    for (Level level : topology.levels()) {
      records = through(level, records, kept.of(level.subtopologies()));
    }
    return records;
  }

  private static Dataset<Envelope> through(
      Level level, Dataset<Envelope> records, Dataset<InitialEntry> kept) {
    KeyValueGroupedDataset<Long, Envelope> grouped =
        records.groupBy("grouping").as(Encoders.LONG(), Envelope.ENCODER);
    if (kept == null) {
      return grouped.transformWithState(
          level, TimeMode.None(), OutputMode.Update(), Envelope.ENCODER);
    }
    return grouped.transformWithState(
        new LevelWithInitialState(level),
        TimeMode.None(),
        OutputMode.Update(),
        kept.groupBy("grouping").as(Encoders.LONG(), InitialState.ENTRY),
        Envelope.ENCODER,
        InitialState.ENTRY);
  }

  /** Returns how many records of an application's sources could not be read since it was built. */
  public static long corruptRecords(String applicationId) {
    LongAccumulator accumulator = CORRUPT_RECORDS.get(applicationId);
    return accumulator == null ? 0 : accumulator.sum();
  }

  private static Dataset<SourceRecord> sourceRecords(Dataset<Row> rows, boolean ofOneTopic) {
    List<String> columns = List.of(rows.columns());
    String ts =
        columns.contains("timestamp_ms")
            ? "timestamp_ms AS ts"
            : "unix_millis(timestamp) AS ts";
    String headers =
        columns.contains("headers")
            ? "duolog_headers(headers) AS headers"
            : "CAST(NULL AS BINARY) AS headers";
    String topic = ofOneTopic ? "CAST(NULL AS STRING) AS topic" : "topic";
    return rows
        .selectExpr("key", "value", "partition", "offset", ts, headers, topic)
        .as(SOURCE_RECORD);
  }
}
