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
 * Writes envelopes to their sink topics, in order within a Spark partition: at least once, or exactly once in the
 * {@link Transactions} of the application.
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
   * @param checkpointLocation of which tasks ask whether this JVM still owns it, where it does now
   * @param settings of the producer; the rest has defaults that suit the mode
   * @param onCluster where tasks of other JVMs are to write each result once; else null
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
      shared = Producers.take(producerConfig);
      producer = shared.producer;
    }
    calls = Calls.of(applicationId);
    task = new Calls.Task(handlers);
    return true;
  }

  private void openExactlyOnce(long epoch) {
    TaskContext context = TaskContext.get();
    if (context.attemptNumber() > 0 || context.stageAttemptNumber() > 0) {
      throw new EpochBrokenException("a task was run twice in one epoch", null);
    }
    transactions = onCluster == null ? own() : onCluster.here();
    producer = transactions.producer();
    this.epoch = epoch;
    begun = false;
  }

  /** The transactions in this JVM of the start that made this sink: tasks may outlive a stop, and the next start's path is the same. */
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
    // In a micro-batch ages are seconds, and asking for the time is not free.
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
   * Says why a record need not be given to the producer: one that chose a partition that is not there, for which the
   * producer would wait a minute; and in a transaction one that is too large, as the producer would end the transaction.
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

  /** Fails, or passes the refused records over and writes their dead letters. */
  private void handleRefused() {
    for (Refused next = refused.poll(); next != null; next = refused.poll()) {
      Exception error = next.error;
      String at = "topic \"" + next.topic + "\"";
      if (exactlyOnce && !next.here) {
        throw broken(error, at);
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

  /** What a transaction ends with that a broker has refused a record of. */
  private RuntimeException broken(Exception error, String at) {
    RuntimeException failed =
        new IllegalStateException("cannot write to " + at + ": " + error.getMessage(), error);
    RuntimeException meaning = transactions.failure(failed);
    boolean isOfTheRecord =
        error instanceof ApiException && !(error instanceof RetriableException);
    return meaning == failed && isOfTheRecord
        ? new RecordFailedException(
            "a transaction cannot leave out a record that " + at + " refuses: " + error.getMessage(),
            error)
        : meaning;
  }

  /** What is written in the place of a refused record; null where that is nothing. */
  private Envelope deadLetter(Envelope refused, String at, Exception error) {
    if (isOfChangelog(refused)) {
      // A state that its changelog does not have could not come back: no handler may pass it over.
      throw new RecordFailedException("cannot write a change of a store to " + at + ": " + error, error);
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
    int partitions = producer.partitionsFor(topics[record.sink()]).size();
    return Utils.toPositive(Utils.murmur2(inner)) % partitions;
  }

  /** The partition that a record names, or null. */
  public static Integer chosenPartition(Envelope record) {
    int partition = record.partition();
    return partition == Envelope.ANY_PARTITION ? null : (Integer) partition;
  }

  /** The record as Kafka's producer takes it; {@code topics} by sink id. */
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

  /** Waits for all calls and acknowledgements, unless the task has failed already. */
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
          onCluster.tell(epoch, here.id());
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

  /** A record that the producer or the broker does not take; {@code here}: that was not given to the producer. */
  private record Refused(Envelope record, String topic, Exception error, boolean here) {}
}
