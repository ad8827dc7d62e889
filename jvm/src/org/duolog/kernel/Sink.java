package org.duolog.kernel;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.utils.Utils;
import org.apache.spark.sql.ForeachWriter;

/**
 * Writes envelopes to their sink topics: at least once, in order within a Spark partition.
 *
 * <p>Spark's own Kafka sink has no timestamp column and would stamp records with the wall clock. Tasks
 * share their {@link Producers}. A record that the broker refuses
 * goes to the handler of production errors, at the next record or at {@link #close}, which waits
 * until everything is acknowledged. What may succeed later is no fault of the record: it fails the
 * task whatever the handler.
 *
 * <p>What is for a function goes to {@link Calls}, and counts as written when it was called.
 *
 * <p>Threads: one task each; acknowledgements come on the producer's thread.
 */
final class Sink extends ForeachWriter<Envelope> {
  private static final long serialVersionUID = 1L;

  private final String applicationId;
  private final String checkpointLocation;
  private final String[] topics;
  private final int[] windowBytes;
  private final boolean[] isCall;
  private final ErrorHandlers handlers;
  private final HashMap<String, Object> producerConfig;
  private transient Producers.Shared shared;
  private transient Queue<Refused> refused;
  private transient Metrics metrics;
  private transient Checkpoint checkpoint;
  private transient Calls calls;
  private transient Calls.Task task;

  /**
   * @param checkpointLocation asked whether this JVM still owns it, where it ever did
   * @param settings of the producer; the rest has defaults that suit the mode
   */
  Sink(Spec spec, String checkpointLocation, Map<String, String> settings) {
    this.applicationId = spec.applicationId();
    this.checkpointLocation = checkpointLocation;
    this.topics = spec.sinks().stream().map(Spec.Output::topic).toArray(String[]::new);
    this.windowBytes = spec.sinks().stream().mapToInt(Spec.Output::windowBytes).toArray();
    this.isCall = new boolean[topics.length];
    spec.sinks().forEach(sink -> isCall[sink.id()] = sink.call());
    this.handlers = new ErrorHandlers(spec);
    boolean realTime = spec.realTime();
    producerConfig = new HashMap<>();
    producerConfig.put("linger.ms", realTime ? "0" : "50");
    producerConfig.put("batch.size", realTime ? "65536" : "262144");
    producerConfig.put("acks", "all");
    producerConfig.putAll(settings);
  }

  @Override
  public boolean open(long partition, long epoch) {
    refused = new ConcurrentLinkedQueue<>();
    metrics = Metrics.of(applicationId);
    checkpoint = Checkpoint.of(Path.of(checkpointLocation));
    shared = Producers.take(producerConfig);
    calls = Calls.of(applicationId);
    task = new Calls.Task(handlers);
    return true;
  }

  @Override
  public void process(Envelope record) {
    if (!record.isForSink()) {
      throw new IllegalStateException("no level took the records of edge " + record.edge());
    }
    ensureOwned();
    handleRefused();
    if (record.topic() == null && isCall[record.sink()]) {
      sendDeadLetters();
      calls.hand(task, topics[record.sink()], record);
    } else {
      send(record);
    }
  }

  /** Writes the dead letters of records whose functions have failed. */
  private void sendDeadLetters() {
    for (Envelope next; (next = calls.deadLetter(task)) != null; ) {
      send(next);
    }
  }

  private void send(Envelope record) {
    ProducerRecord<byte[], byte[]> produced = produced(record, topics, partition(record));
    InvalidPartitionsException nowhere = nowhere(record, produced);
    if (nowhere != null) {
      refused.add(new Refused(record, produced.topic(), nowhere));
      return;
    }
    shared.producer.send(
        produced,
        (metadata, error) -> {
          if (error != null) {
            refused.add(new Refused(record, produced.topic(), error));
          }
        });
    metrics.recordsOut.increment();
  }

  /** Says that a record chose a partition that is not there: the producer would wait a minute for it to come. */
  private InvalidPartitionsException nowhere(
      Envelope record, ProducerRecord<byte[], byte[]> produced) {
    if (record.partition() == Envelope.ANY_PARTITION) {
      return null;
    }
    int last = shared.producer.partitionsFor(produced.topic()).size() - 1;
    return produced.partition() <= last
        ? null
        : new InvalidPartitionsException(
            "no partition " + produced.partition() + ", but 0 to " + last);
  }

  /** Fails, or passes the refused records over and writes their dead letters. */
  private void handleRefused() {
    for (Refused next = refused.poll(); next != null; next = refused.poll()) {
      Exception error = next.error;
      String at = "topic \"" + next.topic + "\"";
      if (!(error instanceof ApiException) || error instanceof RetriableException) {
        Producers.retire(shared);
        String what = "cannot write to " + at + ": " + error.getMessage();
        throw new IllegalStateException(what, error);
      }
      Envelope deadLetter = deadLetter(next.record, at, error);
      if (deadLetter != null) {
        send(deadLetter);
      }
    }
  }

  /** What is written in the place of a refused record; null where that is nothing. */
  private Envelope deadLetter(Envelope refused, String at, Exception error) {
    if (!handlers.isDeadLetter(refused)) {
      byte[] headers = refused.headers();
      return handlers.handle(
          ErrorHandlers.Stage.PRODUCTION, refused.origin(), null, headers, at, error);
    }
    boolean tooLarge =
        error instanceof RecordTooLargeException
            || error instanceof RecordBatchTooLargeException;
    Envelope smaller = tooLarge ? DeadLetter.smaller(refused) : null;
    if (smaller == null) {
      throw new RecordFailed("cannot write a dead letter to " + at + ": " + error, error);
    }
    return smaller;
  }

  /**
   * The partition of a record, or null for the producer's choice, which is by the whole key: windows
   * of one key belong together. Source: Kafka Streams WindowedStreamPartitioner.
   */
  private Integer partition(Envelope record) {
    boolean hasWindow =
        record.topic() == null && record.key() != null && windowBytes[record.sink()] > 0;
    if (record.partition() != Envelope.ANY_PARTITION || !hasWindow) {
      return chosenPartition(record);
    }
    byte[] key = record.key();
    byte[] inner = Arrays.copyOf(key, key.length - windowBytes[record.sink()]);
    int partitions = shared.producer.partitionsFor(topics[record.sink()]).size();
    return Utils.toPositive(Utils.murmur2(inner)) % partitions;
  }

  /** The partition that a record names, or null. */
  static Integer chosenPartition(Envelope record) {
    int partition = record.partition();
    return partition == Envelope.ANY_PARTITION ? null : (Integer) partition;
  }

  /** The record as Kafka's producer takes it; {@code topics} by sink id. */
  static ProducerRecord<byte[], byte[]> produced(
      Envelope record, String[] topics, Integer partition) {
    String topic = record.topic();
    byte[] headers = record.headers();
    return new ProducerRecord<>(
        topic == null ? topics[record.sink()] : topic,
        partition,
        record.ts(),
        record.key(),
        record.value(),
        headers == null ? null : Headers.decode(headers));
  }

  /** Waits for all calls and acknowledgements, unless the task has failed already. */
  @Override
  public void close(Throwable error) {
    if (shared == null) {
      return;
    }
    try {
      if (error == null) {
        calls.await(task);
        sendDeadLetters();
        shared.producer.flush();
        while (!refused.isEmpty()) {
          ensureOwned();
          handleRefused();
          shared.producer.flush();
        }
        ensureOwned();
      }
    } finally {
      Producers.give(shared);
      shared = null;
    }
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

  /** A record that the producer or the broker does not take. */
  private record Refused(Envelope record, String topic, Exception error) {}
}
