package org.duolog.kernel.commit;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A topic with everything that an application has committed. If the checkpoint is lost, the stores
 * are restored from their changelogs; this topic determines which of their entries count, and where
 * sources continue.
 *
 * <pre>
 *   key    epoch
 *   value  JSON: the fields of the head, and
 *          {"epoch": N, "number": N, "query": Spark's id of the query,
 *           "offsets": text of its offsets/N, "committed_at": ms}
 * </pre>
 *
 * <p>Written after each entry of Spark's commit log, and acknowledged before the next micro-batch
 * is planned, so at most one commit is missing. With exactly-once results, the record is part of
 * the epoch's transaction, as the changelogs are: then it is there if and only if the epoch is
 * committed. Threads: any.
 */
public final class CommitTopic {
  private static final byte[] KEY = "epoch".getBytes(StandardCharsets.UTF_8);
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Duration CLOSING = Duration.ofSeconds(5);
  private static final Map<Path, CommitTopic> OPENED = new ConcurrentHashMap<>();

  private final String topic;
  private final ObjectNode head;
  private final KafkaProducer<byte[], byte[]> producer;

  /** The last epoch whose record was written in a transaction; -1 if none was. */
  private volatile long lastInTransaction = -1;

  private CommitTopic(String topic, ObjectNode head, Map<String, Object> settings) {
    this.topic = topic;
    this.head = head;
    producer =
        new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /**
   * Starts to record the commits of a checkpoint.
   *
   * @param directory Spark's directory, with {@code offsets} and {@code commits}
   * @param headJson an object whose fields each record has
   * @param settings settings of the producer
   */
  public static void open(
      String directory, String topic, String headJson, Map<String, String> settings)
      throws IOException {
    close(directory);
    ObjectNode head = (ObjectNode) MAPPER.readTree(headJson);
    OPENED.put(Path.of(directory), new CommitTopic(topic, head, new HashMap<>(settings)));
  }

  public static void close(String directory) {
    CommitTopic log = OPENED.remove(Path.of(directory));
    if (log != null) {
      // A stop does not wait for a broker that is not available.
      log.producer.close(CLOSING);
    }
  }

  /** Handles a new file in one of Spark's logs. */
  static void written(Path entry) throws IOException {
    Path log = entry.getParent();
    String number = entry.getFileName().toString();
    boolean isCommit =
        log.getFileName().toString().equals("commits")
            && number.chars().allMatch(Character::isDigit);
    CommitTopic commits = isCommit ? OPENED.get(log.getParent()) : null;
    if (commits != null && commits.lastInTransaction != Long.parseLong(number)) {
      commits.write(log.getParent(), Long.parseLong(number));
    }
  }

  /**
   * Returns the record for an epoch, to be written in its transaction; null if commits are not
   * recorded.
   */
  static ProducerRecord<byte[], byte[]> inTransaction(Path directory, long epoch)
      throws IOException {
    CommitTopic commits = OPENED.get(directory);
    if (commits == null) {
      return null;
    }
    commits.lastInTransaction = epoch;
    return commits.record(directory, epoch);
  }

  private ProducerRecord<byte[], byte[]> record(Path directory, long epoch) throws IOException {
    ObjectNode value = head.deepCopy();
    value.put("epoch", epoch);
    value.put("number", epoch);
    value.put(
        "query", MAPPER.readTree(Remote.read(directory.resolve("metadata"))).path("id").asText());
    value.put(
        "offsets", Remote.readString(directory.resolve("offsets").resolve(String.valueOf(epoch))));
    value.put("committed_at", System.currentTimeMillis());
    return new ProducerRecord<>(topic, KEY, MAPPER.writeValueAsBytes(value));
  }

  private void write(Path directory, long epoch) throws IOException {
    try {
      producer.send(record(directory, epoch)).get();
    } catch (ExecutionException | KafkaException e) {
      throw new IOException(
          "cannot write to topic \"" + topic + "\": " + e.getMessage(), e.getCause());
    } catch (InterruptedException e) {
      // Stopped: the next commit writes the record; a restore before that goes back by one.
      Thread.currentThread().interrupt();
    }
  }
}
