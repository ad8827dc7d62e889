package org.duolog.kernel.commit;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.SparkEnv;
import org.apache.spark.util.CollectionAccumulator;

/**
 * The transactions of one executor of a cluster: all its tasks of an epoch write in one
 * transaction, which the driver commits.
 *
 * <pre>
 *   CHECKPOINT/transactions/CLAIM/ID   exists from before the first record until the driver has
 *                                      fenced the producer; contains the epoch that the driver has
 *                                      committed last of transactional id ID
 *
 *   first record of an epoch   the file is written, the producer is initialized, and the file is
 *                              checked again
 *   a later epoch's            the file says that the epoch before was committed: the producer may
 *                              continue
 * </pre>
 *
 * <p>Only transactions that the driver has already committed are committed here: Kafka's producer
 * must learn about that by requesting the same end again. So an executor whose driver has gone, or
 * has started again, never makes anything visible. A new start renames the directory, reads the
 * names in it and fences these producers. A producer that is initialized after that finds its file
 * gone and does not write; one that was initialized before is fenced.
 *
 * <p>A producer is closed without its cooperation: an orderly close would abort a transaction that
 * the driver is about to commit.
 *
 * <p>Threads: tasks write at the same time. Source: KIP-98; the idempotence of EndTxn.
 */
public final class ExecutorTransactions implements EpochWriter {
  private static final Map<Path, ExecutorTransactions> OPEN = new HashMap<>();
  private static final long NONE = -1;
  private static final long LOOK_S = 10;
  private static ScheduledExecutorService looks;

  /** Data of a start that its tasks get from the driver. */
  public record Claim(
      String directory,
      String prefix,
      HashMap<String, Object> settings,
      CollectionAccumulator<String> written)
      implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final String BETWEEN = " ";

    /** Returns the transactions of this JVM. */
    public ExecutorTransactions here() {
      return of(this, SparkEnv.get().executorId());
    }

    /**
     * Reports to the driver, with the end of the task, that a transaction has records of an epoch,
     * all acknowledged.
     */
    public void report(long epoch, String id) {
      written.add(epoch + BETWEEN + id);
    }

    /**
     * Returns the transactional id in a report of {@link #report}; null if it is about another
     * epoch.
     */
    static String idOf(String told, long epoch) {
      String[] parts = told.split(BETWEEN, 2);
      return Long.parseLong(parts[0]) == epoch ? parts[1] : null;
    }
  }

  private final Path file;
  private final String id;
  private final String timeoutMs;
  private final KafkaProducer<byte[], byte[]> producer;
  private boolean initialized;
  private long epoch = NONE;

  private ExecutorTransactions(Path file, Map<String, Object> settings) {
    this.file = file;
    id = file.getFileName().toString();
    Map<String, Object> config = new HashMap<>(settings);
    timeoutMs = String.valueOf(config.get("transaction.timeout.ms"));
    config.put("transactional.id", id);
    producer =
        new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
  }

  static ExecutorTransactions of(Claim claim, String executor) {
    synchronized (OPEN) {
      if (looks == null) {
        looks = Executors.newSingleThreadScheduledExecutor(ExecutorTransactions::daemon);
        looks.scheduleWithFixedDelay(
            ExecutorTransactions::closeForgotten, LOOK_S, LOOK_S, TimeUnit.SECONDS);
      }
      return OPEN.computeIfAbsent(
          Path.of(claim.directory()).resolve(claim.prefix() + "-" + executor),
          file -> new ExecutorTransactions(file, claim.settings()));
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "duolog-executor-transactions");
    thread.setDaemon(true);
    return thread;
  }

  /** Closes the producers of starts that have ended. */
  private static void closeForgotten() {
    synchronized (OPEN) {
      OPEN.entrySet()
          .removeIf(
              open -> {
                boolean isOver = Remote.isGone(open.getKey().getParent());
                if (isOver) {
                  open.getValue().producer.close(Duration.ZERO);
                }
                return isOver;
              });
    }
  }

  public String id() {
    return id;
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
    if (epoch > number) {
      throw new EpochBrokenException(
          String.format(
              "epoch %d starts in executor's transaction %s after epoch %d", number, id, epoch),
          null);
    }
    try {
      if (!initialized) {
        initialize();
      } else if (epoch != NONE) {
        resumeAfter(epoch);
      }
      producer.beginTransaction();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (RuntimeException e) {
      throw failure(e);
    }
    epoch = number;
  }

  private void initialize() throws IOException {
    try {
      Remote.writeNew(file, new byte[0]);
    } catch (NoSuchFileException gone) {
      throw startedAgain();
    }
    FailPoints.at("executor.named");
    producer.initTransactions();
    said();
    initialized = true;
  }

  /** Makes the producer learn that its last transaction is committed. */
  private void resumeAfter(long last) throws IOException {
    if (!said().equals(String.valueOf(last))) {
      throw new EpochBrokenException(
          String.format("transaction %s of epoch %d was not committed by the driver", id, last),
          null);
    }
    producer.commitTransaction();
  }

  private String said() throws IOException {
    try {
      return Remote.readString(file);
    } catch (NoSuchFileException gone) {
      throw startedAgain();
    }
  }

  private EpochBrokenException startedAgain() {
    return new EpochBrokenException(
        "its driver has started again, and executor's transaction " + id + " is over", null);
  }

  @Override
  public RuntimeException failure(RuntimeException failed) {
    return Transactions.isFenced(failed)
        ? new EpochBrokenException(
            String.format(
                "transaction %s was ended: by a driver that has started again, or by the broker"
                    + " because it took longer than transaction.timeout.ms=%s",
                id, timeoutMs),
            failed)
        : failed;
  }
}
