package org.duolog.kernel.commit;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.SparkContext;
import org.duolog.kernel.commit.TransactionFinisher.Part;

/**
 * The transactions of one application: what the tasks of an epoch write is committed with the
 * epoch, or never visible.
 *
 * <pre>
 *   tasks write                     in one transaction for the epoch, of one producer for all tasks
 *   state is committed, job done
 *   commits/N is written            under another name, copied to prepared.N, both durable
 *   marker of N, transaction        committed                              ◀─ here the epoch counts
 *   commits/N gets its name
 * </pre>
 *
 * <p>So after any crash there are two cases. If the marker does not name epoch N, nothing of the
 * epoch counts, neither in topics nor in the state; it is computed again, with any plan, order and
 * mode. If it does, {@code prepared.N} is the entry that Spark would have written, and a start
 * writes it ({@code engine/exactly_once/epochs.py}). Correctness does not depend on a deterministic
 * replay, which real time could not provide.
 *
 * <p>An epoch that writes nothing needs no transaction. A task that runs twice in one epoch would
 * write twice, so the epoch is aborted.
 *
 * <p>On a cluster each executor has its own producer and transaction
 * ({@link ExecutorTransactions}). The transaction of this class then contains only the marker,
 * which names the executors' transactions. Its commit decides that all of them are committed; they
 * are, by this driver or by the next start. So there is still one moment at which an epoch counts,
 * and a fenced driver cannot decide any more.
 *
 * <p>Threads: tasks write at the same time; Spark's stream thread commits. Source: KIP-98.
 */
public final class Transactions implements EpochWriter {
  private static final Map<Path, Transactions> OPEN = new ConcurrentHashMap<>();
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final long NONE = -1;
  private static final Duration CLOSING = Duration.ofSeconds(5);

  private final Path checkpoint;
  private final EpochMarkers markers;
  private final String claim = UUID.randomUUID().toString();
  private final String timeoutMs;
  private final OwnerMarker owner;
  private final KafkaProducer<byte[], byte[]> producer;
  private long epoch = NONE;
  private Path prepared;
  private String preparedDigest;
  private Path outlived;

  /** The executors' transactions; null if all tasks are in this JVM. */
  private final EpochParts parts;

  private List<Part> partsOfEpoch = List.of();
  private long epochOfParts = NONE;

  /** The last epoch whose marker names executors' transactions, and whose entry is written. */
  private long marked = NONE;

  private Transactions(
      Path checkpoint, String applicationId, Map<String, Object> settings, boolean clustered)
      throws IOException {
    this.checkpoint = checkpoint;
    parts =
        clustered
            ? new EpochParts(ofExecutors(checkpoint), applicationId, claim, settings)
            : null;
    markers = new EpochMarkers(applicationId, settings);
    owner = new OwnerMarker(markers, claim, checkpoint.getParent());
    timeoutMs = String.valueOf(settings.get("transaction.timeout.ms"));
    Map<String, Object> config = new HashMap<>(settings);
    config.put("transactional.id", applicationId + "-0");
    producer =
        new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /**
   * Returns the last commit as JSON, {@code {"epoch": {"query", "epoch"}}}, if there is one. Does
   * not fence anything.
   *
   * @param settings settings of Kafka's clients
   */
  public static String markers(String applicationId, Map<String, String> settings)
      throws IOException {
    EpochMarkers markers = new EpochMarkers(applicationId, new HashMap<>(settings));
    markers.create();
    return EpochMarkers.render(markers.read(EpochMarkers.EPOCH));
  }

  /**
   * Ends the transactions of the previous owner of this application's name, and starts new ones.
   *
   * @param checkpoint Spark's directory of the application
   * @param host name of this machine, for messages
   * @param settings settings of the producer
   * @return as {@link #markers}; includes a transaction whose commit was in progress
   */
  public static String open(
      String checkpoint, String applicationId, String host, Map<String, String> settings)
      throws IOException {
    return open(checkpoint, applicationId, host, settings, false);
  }

  /**
   * The same; if {@code clustered} is true, tasks are in other JVMs, each with its own
   * transactions.
   */
  public static String open(
      String checkpoint,
      String applicationId,
      String host,
      Map<String, String> settings,
      boolean clustered)
      throws IOException {
    close(checkpoint);
    Path path = Path.of(checkpoint);
    Transactions opened =
        new Transactions(path, applicationId, new HashMap<>(settings), clustered);
    try {
      opened.producer.initTransactions();
      opened.markers.create();
      opened.writeMarker(EpochMarkers.OWNER, opened.owner.marker(host));
      String found = EpochMarkers.render(opened.markers.read(EpochMarkers.EPOCH));
      OPEN.put(path, opened);
      return found;
    } catch (IOException | RuntimeException failed) {
      opened.closeParts();
      opened.producer.close(Duration.ZERO);
      throw failed;
    }
  }

  /**
   * Returns the state of executors' transactions as JSON by id:
   * {@code {"state", "producer", "epoch"}}, without those that no broker knows.
   *
   * @param partsJson the transactions in a marker
   * @param settings settings of Kafka's clients
   */
  public static String describe(String partsJson, Map<String, String> settings)
      throws IOException {
    try (TransactionFinisher ends = new TransactionFinisher(new HashMap<>(settings))) {
      return EpochParts.render(
          ends.describe(EpochMarkers.parts(partsJson).stream().map(Part::id).toList()));
    }
  }

  /** Commits executors' transactions that a marker names. */
  public static void commitParts(String partsJson, Map<String, String> settings)
      throws IOException {
    try (TransactionFinisher ends = new TransactionFinisher(new HashMap<>(settings))) {
      ends.commit(EpochMarkers.parts(partsJson));
    }
  }

  /** Aborts executors' transactions that a marker names and that were not committed. */
  public static void abortParts(String partsJson, Map<String, String> settings)
      throws IOException {
    try (TransactionFinisher ends = new TransactionFinisher(new HashMap<>(settings))) {
      ends.abort(EpochMarkers.parts(partsJson));
    }
  }

  /** Writes a marker that names an epoch and no transactions, as all of them are committed. */
  public static void mark(String checkpoint, String query, long epoch) {
    Transactions open = OPEN.get(Path.of(checkpoint));
    open.writeMarker(EpochMarkers.EPOCH, EpochMarkers.epoch(query, epoch));
  }

  /**
   * Aborts transactions that executors of earlier starts have left open. Call it when the marker
   * names none.
   */
  public static void endOthers(String checkpoint, Map<String, String> settings)
      throws IOException {
    Path path = Path.of(checkpoint);
    EpochParts.endOthers(ofExecutors(path), OPEN.get(path).claim, new HashMap<>(settings));
  }

  /**
   * Aborts what is not committed, so that readers of committed records need not wait for a timeout.
   */
  public static void close(String checkpoint) {
    Transactions open = OPEN.remove(Path.of(checkpoint));
    if (open != null) {
      open.abort();
    }
  }

  /** Returns the transactions of a checkpoint in this JVM; null if there are none. */
  public static Transactions of(Path checkpoint) {
    return OPEN.isEmpty() ? null : OPEN.get(checkpoint);
  }

  /** The id of the start that they belong to. */
  public String claim() {
    return claim;
  }

  private static Path ofExecutors(Path checkpoint) {
    return checkpoint.resolveSibling("transactions");
  }

  /** Returns what tasks in other JVMs need to write; null if all tasks are in this JVM. */
  public ExecutorTransactions.Claim handOut(SparkContext spark) {
    return parts == null ? null : parts.handOut(spark);
  }

  EpochParts parts() {
    return parts;
  }

  @Override
  public KafkaProducer<byte[], byte[]> producer() {
    return producer;
  }

  @Override
  public synchronized void begin(long number) {
    if (epoch == number) {
      return;
    }
    if (epoch != NONE) {
      throw new EpochBrokenException(
          String.format("epoch %d starts before epoch %d has ended", number, epoch), null);
    }
    try {
      producer.beginTransaction();
    } catch (RuntimeException e) {
      throw failure(e);
    }
    epoch = number;
  }

  /** Stores the entry of an epoch, as Spark has written it, for a later start. */
  synchronized void prepare(long number, Path entry, PendingSyncs unsynced) throws IOException {
    if (parts != null) {
      partsOfEpoch = parts.of(number);
      epoch = partsOfEpoch.isEmpty() ? NONE : number;
      epochOfParts = epoch;
    }
    if (epoch == NONE) {
      return;
    }
    prepared = prepared(number);
    preparedDigest = PreparedEntry.write(entry, prepared);
    unsynced.add(prepared);
    unsynced.add(prepared.getParent());
  }

  /** Commits what was written in an epoch, if anything was, and its marker. */
  void commit(long number) throws IOException {
    synchronized (this) {
      if (epoch == NONE) {
        return;
      }
      if (epoch != number) {
        throw new EpochBrokenException(
            String.format("epoch %d was written, epoch %d ends", epoch, number), null);
      }
    }
    Map<String, Object> marker =
        EpochMarkers.epoch(queryId(), number, preparedDigest, parts == null ? null : partsOfEpoch);
    ProducerRecord<byte[], byte[]> told = CommitTopic.inTransaction(checkpoint, number);
    try {
      CommitThread.uninterruptibly(
          () -> {
            if (parts != null) {
              parts.decide(partsOfEpoch);
              producer.beginTransaction();
            }
            FailPoints.at("transaction.marker");
            if (told != null) {
              producer.send(told);
            }
            producer.send(markers.record(EpochMarkers.EPOCH, marker));
            FailPoints.at("transaction.commit");
            producer.commitTransaction();
            if (parts != null) {
              FailPoints.at("transaction.decided");
              parts.commit(partsOfEpoch, number);
            }
            FailPoints.at("transaction.committed");
            return null;
          });
    } catch (RuntimeException e) {
      throw failure(e);
    }
    synchronized (this) {
      epoch = NONE;
    }
  }

  /**
   * Deletes the stored entry of the epoch before the last one; the last entry may not be durable
   * yet.
   */
  synchronized void committed() throws IOException {
    if (outlived != null && !outlived.equals(prepared)) {
      Remote.deleteIfExists(outlived);
    }
    outlived = prepared;
    if (parts != null && epochOfParts != NONE) {
      parts.done();
      marked = epochOfParts;
    }
  }

  @Override
  public RuntimeException failure(RuntimeException failed) {
    if (failed instanceof TransactionFinisher.LostException) {
      return new EpochBrokenException(failed.getMessage(), failed);
    }
    if (!isFenced(failed)) {
      return failed;
    }
    Map<String, Object> now = owner.now();
    if (!claim.equals(now.get("claim"))) {
      return new TakenOverException(
          String.format(
              "another process writes its results now: process %s on host %s, with checkpoint %s",
              now.get("pid"), now.get("host"), now.get("checkpoint")),
          failed);
    }
    return new EpochBrokenException(
        "the broker has ended its transaction, which took longer than transaction.timeout.ms="
            + timeoutMs,
        failed);
  }

  private Path prepared(long number) {
    return checkpoint.resolveSibling("prepared." + number);
  }

  private String queryId() throws IOException {
    return String.valueOf(
        MAPPER.readTree(Remote.read(checkpoint.resolve("metadata"))).path("id").asText());
  }

  private void writeMarker(String key, Map<String, Object> marker) {
    producer.beginTransaction();
    producer.send(markers.record(key, marker));
    producer.commitTransaction();
  }

  static boolean isFenced(Throwable failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof ProducerFencedException
          || cause instanceof InvalidProducerEpochException
          || cause instanceof InvalidTxnStateException
          || cause instanceof InvalidPidMappingException) {
        return true;
      }
    }
    return false;
  }

  private void closeParts() {
    if (parts == null) {
      return;
    }
    try {
      parts.close(this::forgetParts);
    } catch (IOException | RuntimeException failed) {
      // As below: the next start fences them, or the broker aborts them.
    }
  }

  /**
   * Called before executors are fenced: after that their coordinators do not know what they have
   * committed.
   */
  private void forgetParts() throws IOException {
    if (marked != NONE) {
      writeMarker(EpochMarkers.EPOCH, EpochMarkers.epoch(queryId(), marked));
    }
  }

  private void abort() {
    closeParts();
    Future<Void> aborted = null;
    synchronized (this) {
      if (epoch != NONE && parts == null) {
        aborted =
            CommitThread.submit(
                () -> {
                  producer.abortTransaction();
                  return null;
                });
      }
    }
    try {
      if (aborted != null) {
        aborted.get(CLOSING.toMillis(), TimeUnit.MILLISECONDS);
      }
      producer.close(CLOSING);
    } catch (ExecutionException | TimeoutException failed) {
      // The next owner aborts it, or the broker after the transaction timeout.
      producer.close(Duration.ZERO);
    } catch (InterruptedException stopped) {
      producer.close(Duration.ZERO);
      Thread.currentThread().interrupt();
    }
  }
}
