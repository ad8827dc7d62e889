package org.duolog.kernel.state;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.api.java.function.ForeachPartitionFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.store.Changelog;
import org.duolog.kernel.topology.InitialEntry;
import org.duolog.kernel.topology.Topology;

/**
 * Writes the initial entries of stores to their changelogs: the entries of {@link InitialState}
 * that no changelog has yet.
 *
 * <p>They do not belong to an epoch, precede those of their generation, and count as soon as one of
 * these does. If a start ends before its first commit, the next start writes them again, in its own
 * generation. So they need no transaction.
 *
 * <p>Threads: the driver's.
 */
public final class InitialChangelog {
  private InitialChangelog() {}

  /**
   * Writes the entries; returns when all are acknowledged.
   *
   * @param keptJson as passed to {@code Kernel.apply}
   * @param stores which of them, by their names in the spec
   * @param settings settings of the producers
   */
  public static void write(
      SparkSession spark,
      String specJson,
      String keptJson,
      Set<String> stores,
      Map<String, String> settings) {
    Spec spec = Spec.parse(specJson);
    Topology topology = new Topology(spec, spark);
    List<InitialState.StoreCopy> kept =
        InitialState.parse(keptJson).stream().filter(of -> stores.contains(of.becomes())).toList();
    Map<String, String> topics = new HashMap<>();
    for (Spec.Output sink : spec.sinks()) {
      if (sink.store() != null) {
        topics.put(sink.store(), sink.topic());
      }
    }
    Dataset<InitialEntry> entries = new InitialState(kept, topology).all();
    if (entries != null) {
      byte[] headers = Changelog.epoch(spec.generation(), Changelog.BEFORE_ALL);
      String jobTag = jobTag(spec.applicationId());
      spark.sparkContext().addJobTag(jobTag);
      try {
        entries.foreachPartition(
            new Writer(
                new HashMap<>(topics), new HashMap<>(settings), topology.grouping(), headers));
      } finally {
        spark.sparkContext().removeJobTag(jobTag);
      }
    }
  }

  /** Makes an application's pending writes fail, wherever they are. Any thread. */
  public static void cancel(SparkSession spark, String applicationId) {
    spark.sparkContext().cancelJobsWithTag(jobTag(applicationId));
  }

  private static String jobTag(String applicationId) {
    return "duolog-start-" + applicationId;
  }

  private record Writer(
      HashMap<String, String> topics,
      HashMap<String, Object> settings,
      Grouping grouping,
      byte[] epoch)
      implements ForeachPartitionFunction<InitialEntry> {
    private static final long serialVersionUID = 1L;

    @Override
    public void call(Iterator<InitialEntry> entries) {
      AtomicReference<Exception> failed = new AtomicReference<>();
      try (KafkaProducer<byte[], byte[]> producer =
          new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
        while (entries.hasNext() && failed.get() == null) {
          producer.send(
              record(entries.next()),
              (written, error) -> {
                if (error != null) {
                  failed.compareAndSet(null, error);
                }
              });
        }
        producer.flush();
      }
      if (failed.get() != null) {
        throw new IllegalStateException(
            "a changelog cannot be written: " + failed.get().getMessage(), failed.get());
      }
    }

    private ProducerRecord<byte[], byte[]> record(InitialEntry entry) {
      ProducerRecord<byte[], byte[]> record =
          new ProducerRecord<>(
              topics.get(entry.getStore()),
              grouping.task(entry.getGrouping()),
              Changelog.key(entry.getNumber(), entry.getKey()),
              entry.getValue());
      record.headers().add(Changelog.EPOCH, epoch);
      return record;
    }
  }
}
