package org.duolog.kernel.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.duolog.kernel.commit.EpochBrokenException;

/**
 * Record batches that a broker has rejected because of some of their records.
 *
 * <p>The producer reports the other records of such a batch as failed, too, without the cause. To
 * write them again at once could change the order of records with one key. So the micro-batch is
 * computed again, and for a while each record of the application is a batch of its own: only
 * records that are wrong themselves are then rejected, with their reason.
 *
 * <p>Threads: any.
 */
final class RefusedBatches {
  /** The producer has no class of its own for this error. */
  private static final String OF_OTHERS = "because it was part of a batch";

  private static final long ALONE_NS = Duration.ofMinutes(10).toNanos();

  /** The end of the time in which records are alone, by application. */
  private static final Map<String, Long> ALONE = new ConcurrentHashMap<>();

  private RefusedBatches() {}

  /** Returns true if a record was rejected because of other records in its batch. */
  static boolean isOfOthers(Exception error) {
    String message = error.getMessage();
    return error.getClass() == KafkaException.class
        && message != null
        && message.contains(OF_OTHERS);
  }

  /**
   * Returns the exception for a task after such an error; the next task writes records alone.
   *
   * @param error of the record that is wrong, if it is known
   */
  static EpochBrokenException again(String applicationId, String at, Exception error) {
    ALONE.put(applicationId, System.nanoTime() + ALONE_NS);
    String what = "cannot write to " + at + ": " + error.getMessage();
    return new EpochBrokenException(what, error);
  }

  /** Returns the settings of an application's producer, as of now. */
  static Map<String, Object> config(String applicationId, Map<String, Object> given) {
    Long end = ALONE.get(applicationId);
    if (end == null || System.nanoTime() - end > 0) {
      return given;
    }
    Map<String, Object> alone = new HashMap<>(given);
    alone.put(ProducerConfig.BATCH_SIZE_CONFIG, "0");
    alone.put(ProducerConfig.LINGER_MS_CONFIG, "0");
    return alone;
  }
}
