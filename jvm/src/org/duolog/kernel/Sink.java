package org.duolog.kernel;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.sql.ForeachWriter;

/**
 * Writes envelopes to their sink topics: at least once, in order within a Spark partition.
 *
 * <p>Spark's own Kafka sink has no timestamp column and would stamp records with the wall clock. One
 * producer for each configuration serves all tasks of this JVM. What the broker refuses fails the
 * task, at the next record or at {@link #close}, which waits until everything is acknowledged.
 *
 * <p>Threads: one task each; acknowledgements come on the producer's thread.
 */
final class Sink extends ForeachWriter<Envelope> {
  private static final long serialVersionUID = 1L;
  private static final Map<Map<String, Object>, KafkaProducer<byte[], byte[]>> PRODUCERS =
      new ConcurrentHashMap<>();

  private final String applicationId;
  private final String checkpointLocation;
  private final String[] topics;
  private final HashMap<String, Object> producerConfig;
  private transient KafkaProducer<byte[], byte[]> producer;
  private transient AtomicReference<Exception> failure;
  private transient Metrics metrics;
  private transient Checkpoint checkpoint;

  /**
   * @param checkpointLocation asked whether this JVM still owns it, where it ever did
   * @param topics by sink id
   * @param settings of the producer; the rest has defaults that suit the mode
   */
  Sink(
      String applicationId,
      String checkpointLocation,
      String[] topics,
      Map<String, String> settings,
      boolean realTime) {
    this.applicationId = applicationId;
    this.checkpointLocation = checkpointLocation;
    this.topics = topics;
    producerConfig = new HashMap<>();
    producerConfig.put("linger.ms", realTime ? "0" : "50");
    producerConfig.put("batch.size", realTime ? "65536" : "262144");
    producerConfig.put("acks", "all");
    producerConfig.putAll(settings);
  }

  @Override
  public boolean open(long partition, long epoch) {
    failure = new AtomicReference<>();
    metrics = Metrics.of(applicationId);
    checkpoint = Checkpoint.of(Path.of(checkpointLocation));
    producer = PRODUCERS.computeIfAbsent(producerConfig, Sink::create);
    return true;
  }

  @Override
  public void process(Envelope record) {
    if (!record.isForSink()) {
      throw new IllegalStateException("no level took the records of edge " + record.getEdge());
    }
    throwFailure();
    ensureOwned();
    ProducerRecord<byte[], byte[]> produced = produced(record, topics);
    producer.send(
        produced,
        (metadata, error) -> {
          if (error != null) {
            failure.compareAndSet(null, new SinkException(produced.topic(), error));
          }
        });
    metrics.recordsOut.increment();
  }

  /** The record as Kafka's producer takes it; {@code topics} by sink id. */
  static ProducerRecord<byte[], byte[]> produced(Envelope record, String[] topics) {
    String topic = record.getTopic() == null ? topics[record.sink()] : record.getTopic();
    Integer partition =
        record.getPartition() == Envelope.ANY_PARTITION ? null : record.getPartition();
    byte[] headers = record.getHeaders();
    return new ProducerRecord<>(
        topic,
        partition,
        record.getTs(),
        record.getKey(),
        record.getValue(),
        headers == null ? null : Headers.decode(headers));
  }

  /** Waits for all acknowledgements, unless the task has failed already. */
  @Override
  public void close(Throwable error) {
    if (error == null && producer != null) {
      producer.flush();
      throwFailure();
    }
  }

  /** Closes the producers of this JVM; a running sink fails, so no query may run. */
  static void closeProducers() {
    for (Map<String, Object> config : PRODUCERS.keySet()) {
      KafkaProducer<byte[], byte[]> closing = PRODUCERS.remove(config);
      if (closing != null) {
        closing.close();
      }
    }
  }

  private static KafkaProducer<byte[], byte[]> create(Map<String, Object> config) {
    return new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /** What an owner that was paused still has to write is older than what its successor has written. */
  private void ensureOwned() {
    if (checkpoint != null) {
      try {
        checkpoint.ensureRecentlyOwned();
      } catch (IOException lost) {
        throw new UncheckedIOException(lost);
      }
    }
  }

  private void throwFailure() {
    Exception failed = failure.get();
    if (failed != null) {
      // It may be of no use any more. Not closed: tasks of other queries may still write with it.
      PRODUCERS.remove(producerConfig, producer);
      throw new IllegalStateException(failed.getMessage(), failed);
    }
  }

  /** The broker refused a record. */
  static final class SinkException extends Exception {
    private static final long serialVersionUID = 1L;

    SinkException(String topic, Exception cause) {
      super("cannot write to topic \"" + topic + "\": " + cause.getMessage(), cause);
    }
  }
}
