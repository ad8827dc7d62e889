package org.duolog.kernel;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.Trigger;
import org.duolog.kernel.kafka.QueryWriter;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.state.RestoringLevel;
import org.duolog.kernel.store.Changelog;
import org.duolog.kernel.store.ChangelogReader;
import org.duolog.kernel.topology.Topology;

/**
 * Fills the stores of an application from their {@link Changelog}s, with a query over the state of
 * the levels.
 *
 * <pre>
 *   a trigger for each task -> RestoringLevel -> RestoringLevel -> … -> Sink: entries to repair
 *                                 ▲ changelogs of its stores
 * </pre>
 *
 * <p>Entries are not rows of Spark: the partition of a changelog is the task, and each task reads
 * its own ({@link ChangelogReader}). The records that pass from level to level only trigger the
 * tasks, in one micro-batch.
 *
 * <p>The result is a Spark checkpoint with the states of the application's own query; the engine
 * then adds the offsets. The query ends when it has read everything.
 */
public final class Restore {
  private Restore() {}

  /**
   * Starts the query.
   *
   * @param committedJson {"generations": [[generation, last epoch]…]}; other entries were not
   *     committed
   * @param consumer settings of the clients that read the changelogs
   * @param options as those of {@link Launcher#start}
   */
  public static StreamingQuery start(
      SparkSession spark,
      String specJson,
      String committedJson,
      Map<String, String> consumer,
      Map<String, String> options)
      throws TimeoutException {
    Spec spec = Spec.parse(specJson);
    Metrics.begin(spec);
    Topology topology = new Topology(spec, spark);
    List<Map<Integer, List<String>>> levels = topology.stores();
    Map<String, RestoringLevel.Log> logs = new HashMap<>();
    for (Spec.Output sink : spec.sinks()) {
      if (sink.store() != null) {
        logs.put(sink.store(), new RestoringLevel.Log(sink.topic(), sink.id()));
      }
    }
    Changelog.Committed committed =
        new Changelog.Committed(Spec.parse(committedJson, Generations.class).generations());
    ChangelogReader reader =
        new ChangelogReader(new HashMap<>(consumer), committed, Metrics.runOf(spec));
    Dataset<Envelope> records = calls(spark, topology.grouping(), levels);
    for (Map<Integer, List<String>> level : levels) {
      RestoringLevel restoring =
          new RestoringLevel(level, logs, topology.grouping(), reader, spec.generation());
      records =
          records
              .groupBy("grouping")
              .as(Encoders.LONG(), Envelope.ENCODER)
              .transformWithState(
                  restoring, TimeMode.None(), OutputMode.Update(), Envelope.ENCODER);
    }
    return QueryWriter.of(records, spec, options).trigger(Trigger.AvailableNow()).start();
  }

  record Generations(List<List<Long>> generations) {}

  /** Returns a record for each task that has a store, to trigger it; all in one micro-batch. */
  private static Dataset<Envelope> calls(
      SparkSession spark, Grouping grouping, List<Map<Integer, List<String>>> levels) {
    List<Long> groups = new ArrayList<>();
    for (Map<Integer, List<String>> level : levels) {
      level.forEach(
          (subtopology, stores) -> {
            for (int task = 0; task < grouping.tasks() && !stores.isEmpty(); task++) {
              groups.add(grouping.of(subtopology, task));
            }
          });
    }
    long[] all = groups.stream().mapToLong(Long::longValue).toArray();
    return spark
        .readStream()
        .format("rate-micro-batch")
        .option("rowsPerBatch", all.length)
        .option("numPartitions", 1)
        .load()
        .select("value")
        .as(Encoders.LONG())
        .map(
            (MapFunction<Long, Envelope>)
                number -> {
                  Envelope call = Envelope.toSink(0, null, null, 0, null, null, null, 0);
                  call.setGrouping(all[number.intValue()]);
                  return call;
                },
            Envelope.ENCODER);
  }
}
