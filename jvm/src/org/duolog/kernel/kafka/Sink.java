package org.duolog.kernel.kafka;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.record.AbstractRecords;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.Utils;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.ForeachWriter;
import org.duolog.kernel.commit.Checkpoint;
import org.duolog.kernel.commit.EpochBrokenException;
import org.duolog.kernel.commit.EpochWriter;
import org.duolog.kernel.commit.ExecutorTransactions;
import org.duolog.kernel.commit.FailPoints;
import org.duolog.kernel.commit.Transactions;
import org.duolog.kernel.metrics.DeadLetter;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.metrics.SinkCounts;
import org.duolog.kernel.python.Calls;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.spec.Spec;

/**
 * Writes envelopes to their sink topics, in order within a Spark partition: at least once, or
 * exactly once in the {@link Transactions} of the application.
 *
 * <p>Spark's own Kafka sink has no timestamp column and would use the wall clock. Tasks share their
 * {@link Producers}. A record that the broker rejects goes to the handler of production errors, at
 * the next record or in {@link #close}, which waits until everything is acknowledged. Errors that
 * can be retried, and those of {@link RefusedBatches}, are not caused by the record: they fail the
 * task, whatever the handler.
 *
 * <p>Records for functions go to {@link Calls}, and count as written when they have been processed.
 *
 * <p>Threads: one task each; acknowledgements arrive on the producer's thread.
 */
public final class Sink extends ForeachWriter<Envelope> {
  private static final long serialVersionUID = 1L;

  /** Kafka's default of {@code max.request.size}. */
  private static final int REQUEST_BYTES_MAX = 1 << 20;

  private static final int CLOCK_EVERY = 32;

  private final String applicationId;
  private final String run;
  private final String checkpointLocation;
  private final Checkpoint.Claim claim;
  private final ExecutorTransactions.Claim onCluster;
  private final String[] topics;
  private final int[] windowBytes;
  private final boolean[] isCall;
  private final boolean[] isChangelog;
  private final ErrorHandlers handlers;
  private final HashMap<String, Object> producerConfig;
  private final boolean exactlyOnce;
  private final String transactionsOf;
  private final int requestBytesMax;
  private final boolean realTime;
  private transient Producers.Shared shared;
  private transient EpochWriter transactions;
  private transient KafkaProducer<byte[], byte[]> producer;
  private transient long epoch;
  private transient boolean begun;
  private transient Queue<Refused> refused;
  private transient Metrics metrics;
  private transient Map<String, SinkCounts> counts;
  private transient int sparkPartition;
  private transient long now;
  private transient long written;
  private transient Checkpoint checkpoint;
  private transient Calls calls;
  private transient Calls.Task task;

  /**
   * @param checkpointLocation used by tasks to check that this JVM still owns it, if it does now
   * @param settings settings of the producer; others have defaults for the mode
   * @param onCluster for exactly-once results of tasks in other JVMs; otherwise null
   */
  Sink(
      Spec spec,
      String checkpointLocation,
      Map<String, String> settings,
      ExecutorTransactions.Claim onCluster) {
    this.onCluster = onCluster;
    this.applicationId = spec.applicationId();
    this.checkpointLocation = checkpointLocation;
    this.run = Metrics.runOf(spec);
    this.realTime = spec.realTime();
    this.claim = Checkpoint.Claim.on(Path.of(checkpointLocation));
    this.topics = spec.sinks().stream().map(Spec.Output::topic).toArray(String[]::new);
    this.windowBytes = spec.sinks().stream().mapToInt(Spec.Output::windowBytes).toArray();
    this.isCall = new boolean[topics.length];
    this.isChangelog = new boolean[topics.length];
    for (Spec.Output sink : spec.sinks()) {
      isCall[sink.id()] = sink.call();
      isChangelog[sink.id()] = sink.store() != null;
    }
    this.handlers = new ErrorHandlers(spec);
    exactlyOnce = spec.exactlyOnce();
    Transactions open = exactlyOnce ? Transactions.of(Path.of(checkpointLocation)) : null;
    transactionsOf = open == null ? null : open.claim();
    producerConfig = new HashMap<>();
    producerConfig.put("linger.ms", realTime ? "0" : "50");
    producerConfig.put("batch.size", realTime ? "65536" : "262144");
    producerConfig.put("acks", "all");
    producerConfig.putAll(settings);
    requestBytesMax =
        Integer.parseInt(
            String.valueOf(
                producerConfig.getOrDefault(
                    ProducerConfig.MAX_REQUEST_SIZE_CONFIG, REQUEST_BYTES_MAX)));
  }

  @Override
  public boolean open(long partition, long epoch) {
    FailPoints.at("sink.open");
    refused = new ConcurrentLinkedQueue<>();
    metrics = Metrics.of(run);
    counts = new HashMap<>();
    sparkPartition = (int) partition;
    checkpoint = claim == null ? null : claim.ask();
    if (exactlyOnce) {
      openExactlyOnce(epoch);
    } else {
      shared = Producers.take(RefusedBatches.config(applicationId, producerConfig));
      producer = shared.producer;
    }
    calls = Calls.of(applicationId);
    task = new Calls.Task(handlers);
    return true;
  }

  private void openExactlyOnce(long epoch) {
    TaskContext context = TaskContext.get();
    if (context.attemptNumber() > 0 || context.stageAttemptNumber() > 0) {
      throw new EpochBrokenException("a task has run twice in one epoch", null);
    }
    transactions = onCluster == null ? own() : onCluster.here();
    producer = transactions.producer();
    this.epoch = epoch;
    begun = false;
  }

  /**
   * Returns the transactions of the start that created this sink, in this JVM: tasks may outlive a
   * stop, and the next start has the same path.
   */
  private Transactions own() {
    Transactions open = Transactions.of(Path.of(checkpointLocation));
    if (open == null) {
      throw new IllegalStateException("transactions are not open in this JVM");
    }
    if (!open.claim().equals(transactionsOf)) {
      throw new EpochBrokenException("a task of a query that has ended", null);
    }
    return open;
  }

  @Override
  public void process(Envelope record) {
    if (!record.forSink()) {
      throw new IllegalStateException(
          "no level has processed the records of edge " + record.edge());
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
    FailPoints.at("sink.send");
    ProducerRecord<byte[], byte[]> produced = produced(record, topics, partition(record));
    ApiException refusal = refusal(record, produced);
    if (refusal != null) {
      refused.add(new Refused(record, produced.topic(), refusal, true));
      return;
    }
    if (exactlyOnce && !begun) {
      transactions.begin(epoch);
      begun = true;
    }
    try {
      producer.send(
          produced,
          (metadata, error) -> {
            if (error != null) {
              refused.add(new Refused(record, produced.topic(), error, false));
            }
          });
    } catch (KafkaException e) {
      throw transactions == null ? e : transactions.failure(e);
    }
    if (!isOfChangelog(record)) {
      count(produced);
    }
  }

  private boolean isOfChangelog(Envelope record) {
    return record.topic() == null && isChangelog[record.sink()];
  }

  private void count(ProducerRecord<byte[], byte[]> record) {
    metrics.recordsOut.increment();
    // In a micro-batch ages are in seconds, and reading the clock is not free.
    if (realTime || written++ % CLOCK_EVERY == 0) {
      now = System.currentTimeMillis();
    }
    counts
        .computeIfAbsent(record.topic(), topic -> metrics.sink(topic, sparkPartition))
        .write(length(record.key()) + length(record.value()), now - record.timestamp());
  }

  private static int length(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }

  /**
   * Returns why a record must not be passed to the producer: it has chosen a partition that does
   * not exist, for which the producer would wait a minute; or it is too large for a transaction,
   * which the producer would end.
   */
  private ApiException refusal(Envelope record, ProducerRecord<byte[], byte[]> produced) {
    if (exactlyOnce) {
      int bytes =
          AbstractRecords.estimateSizeInBytesUpperBound(
              RecordBatch.CURRENT_MAGIC_VALUE,
              CompressionType.NONE,
              produced.key(),
              produced.value(),
              produced.headers().toArray());
      if (bytes > requestBytesMax) {
        return new RecordTooLargeException(
            String.format(
                "it has %d bytes when written, max.request.size is %d", bytes, requestBytesMax));
      }
    }
    return record.partition() == Envelope.ANY_PARTITION ? null : nowhere(produced);
  }

  private InvalidPartitionsException nowhere(ProducerRecord<byte[], byte[]> produced) {
    int last = producer.partitionsFor(produced.topic()).size() - 1;
    return produced.partition() <= last
        ? null
        : new InvalidPartitionsException(
            "no partition " + produced.partition() + ", but 0 to " + last);
  }

  /** Fails, or skips the rejected records and writes their dead letters. */
  private void handleRefused() {
    for (Refused next = refused.poll(); next != null; next = refused.poll()) {
      Exception error = cause(next);
      String at = "topic \"" + next.topic + "\"";
      if (exactlyOnce && !next.here) {
        throw broken(error, at);
      }
      if (RefusedBatches.isOfOthers(next.error)) {
        Producers.retire(shared);
        throw RefusedBatches.again(applicationId, at, error);
      }
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

  /**
   * Returns why the broker has rejected a record. The producer may only say that it was part of a
   * batch with a wrong record: then the error of that one is the cause.
   */
  private Exception cause(Refused of) {
    if (RefusedBatches.isOfOthers(of.error)) {
      for (Refused other : refused) {
        if (other.topic.equals(of.topic) && other.error instanceof ApiException) {
          return other.error;
        }
      }
    }
    return of.error;
  }

  /** Returns the exception for a transaction that ends because the broker has rejected a record. */
  private RuntimeException broken(Exception error, String at) {
    RuntimeException failed =
        new IllegalStateException("cannot write to " + at + ": " + error.getMessage(), error);
    RuntimeException meaning = transactions.failure(failed);
    boolean isOfTheRecord =
        error instanceof ApiException && !(error instanceof RetriableException);
    return meaning == failed && isOfTheRecord
        ? new RecordFailedException(
            "a transaction cannot leave out a record that "
                + at
                + " refuses: "
                + error.getMessage(),
            error)
        : meaning;
  }

  /** Returns the dead letter of a rejected record; null if there is none. */
  private Envelope deadLetter(Envelope refused, String at, Exception error) {
    if (isOfChangelog(refused)) {
      // A state that its changelog does not contain could not be restored: no handler may skip it.
      throw new RecordFailedException(
          "cannot write a change of a store to " + at + ": " + error, error);
    }
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
      throw new RecordFailedException("cannot write a dead letter to " + at + ": " + error, error);
    }
    return smaller;
  }

  /**
   * Returns the partition of a record; null for the producer's choice, which uses the whole key.
   * Windows of one key must share a partition. Source: Kafka Streams WindowedStreamPartitioner.
   */
  private Integer partition(Envelope record) {
    boolean hasWindow =
        record.topic() == null && record.key() != null && windowBytes[record.sink()] > 0;
    if (record.partition() != Envelope.ANY_PARTITION || !hasWindow) {
      return chosenPartition(record);
    }
    byte[] key = record.key();
    byte[] inner = Arrays.copyOf(key, key.length - windowBytes[record.sink()]);
    int partitions = producer.partitionsFor(topics[record.sink()]).size();
    return Utils.toPositive(Utils.murmur2(inner)) % partitions;
  }

  /** Returns the partition that a record names, or null. */
  public static Integer chosenPartition(Envelope record) {
    int partition = record.partition();
    return partition == Envelope.ANY_PARTITION ? null : (Integer) partition;
  }

  /** Returns the record for Kafka's producer; {@code topics} by sink id. */
  public static ProducerRecord<byte[], byte[]> produced(
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

  /** Waits for all functions and acknowledgements, unless the task has failed already. */
  @Override
  public void close(Throwable error) {
    if (producer == null) {
      return;
    }
    try {
      if (error == null) {
        calls.await(task);
        sendDeadLetters();
        producer.flush();
        while (!refused.isEmpty()) {
          ensureOwned();
          handleRefused();
          producer.flush();
        }
        ensureOwned();
        FailPoints.at("sink.written");
        if (begun && transactions instanceof ExecutorTransactions here) {
          onCluster.report(epoch, here.id());
        }
      }
    } finally {
      if (shared != null) {
        Producers.give(shared);
        shared = null;
      }
      producer = null;
    }
  }

  /** Records of an owner that was paused are older than those of its successor. */
  private void ensureOwned() {
    if (checkpoint != null) {
      try {
        checkpoint.ensureRecentlyOwned();
      } catch (IOException lost) {
        throw new UncheckedIOException(lost);
      }
    }
  }

  /**
   * A record that the producer or the broker has rejected; {@code here} is true if it was not
   * passed to the producer.
   */
  private record Refused(Envelope record, String topic, Exception error, boolean here) {}
}
