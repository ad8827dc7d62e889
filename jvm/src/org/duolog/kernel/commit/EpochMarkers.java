package org.duolog.kernel.commit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The marker topic of an application: the epoch that was committed last, and the owner.
 *
 * <pre>
 *   topic  APPLICATION-epochs, one partition, compacted
 *   key    epoch   value  {"query": Spark's id of the query, "epoch": its number,
 *                         "prepared": SHA-256 of the entry that is kept for a start,
 *                         "parts": [{"id", "producer", "epoch"}…], on a cluster: what is committed
 *                                  with it}
 *   key    owner   value  {"claim", "host", "pid", "checkpoint"}
 * </pre>
 *
 * <p>Both are written in transactions, the epoch in the same one as its results. So a reader of
 * committed records knows which results exist. Unlike offsets of a consumer group, records do not
 * expire while an application is stopped.
 * {@code docs/internals/formats.md} describes the format.
 */
final class EpochMarkers {
  static final String EPOCH = "epoch";
  static final String OWNER = "owner";

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofSeconds(15);

  /**
   * The number of offsets before the end at which the search starts: a marker is followed by its
   * control record and by records of an owner.
   */
  private static final long TAIL = 50;

  private final String topic;
  private final Map<String, Object> client;

  /** @param client settings of Kafka's clients, as a producer has them */
  EpochMarkers(String applicationId, Map<String, Object> client) {
    topic = applicationId + "-epochs";
    this.client = new HashMap<>(client);
    this.client.keySet().removeIf(name -> name.startsWith("transaction"));
  }

  String topic() {
    return topic;
  }

  /** Creates the topic if it does not exist. */
  void create() throws IOException {
    NewTopic wanted =
        new NewTopic(topic, Optional.of(1), Optional.empty())
            .configs(
                Map.of(
                    TopicConfig.CLEANUP_POLICY_CONFIG, TopicConfig.CLEANUP_POLICY_COMPACT,
                    TopicConfig.SEGMENT_BYTES_CONFIG, "1048576"));
    try (Admin admin = Admin.create(client)) {
      admin.createTopics(List.of(wanted)).all().get();
    } catch (ExecutionException refused) {
      if (!(refused.getCause() instanceof TopicExistsException)) {
        throw new IOException(
            "cannot create topic \"" + topic + "\": " + refused.getCause().getMessage(),
            refused.getCause());
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException(
          "interrupted while creating topic \"" + topic + "\"", stopped);
    }
  }

  /**
   * Returns the last committed values by key: the one that is wanted, if it exists, and any near
   * it.
   *
   * @param wanted {@link #EPOCH} or {@link #OWNER}
   */
  Map<String, Map<String, Object>> read(String wanted) throws IOException {
    Map<String, Object> config = new HashMap<>(client);
    config.put("isolation.level", "read_committed");
    config.put("enable.auto.commit", "false");
    config.put("auto.offset.reset", "earliest");
    config.put("allow.auto.create.topics", "false");
    var bytes = new ByteArrayDeserializer();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config, bytes, bytes)) {
      TopicPartition partition = new TopicPartition(topic, 0);
      List<TopicPartition> all = List.of(partition);
      consumer.assign(all);
      long first = consumer.beginningOffsets(all, PATIENCE).get(partition);
      long end = consumer.endOffsets(all, PATIENCE).get(partition);
      for (long back = TAIL; ; back *= 100) {
        long from = Math.max(first, end - back);
        Map<String, Map<String, Object>> found = read(consumer, partition, from, end);
        if (from == first || found.containsKey(wanted)) {
          return found;
        }
      }
    }
  }

  private Map<String, Map<String, Object>> read(
      KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long from, long end)
      throws IOException {
    Map<String, Map<String, Object>> found = new TreeMap<>();
    consumer.seek(partition, from);
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    // Control records advance only the position.
    while (consumer.position(partition, PATIENCE) < end) {
      if (System.nanoTime() > deadline) {
        throw new IOException("cannot read topic \"" + topic + "\" up to its end in " + PATIENCE);
      }
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
        if (record.offset() < end && record.key() != null && record.value() != null) {
          found.put(new String(record.key(), StandardCharsets.UTF_8), parse(record.value()));
        }
      }
    }
    return found;
  }

  /** Returns the value for an epoch whose transactions are all committed. */
  static Map<String, Object> epoch(String query, long number) {
    Map<String, Object> marker = new LinkedHashMap<>();
    marker.put("query", query);
    marker.put("epoch", number);
    return marker;
  }

  /**
   * Returns the value for an epoch that is committed together with it.
   *
   * @param prepared the SHA-256 of its prepared entry
   * @param parts the executors' transactions; null if all tasks are in this JVM
   */
  static Map<String, Object> epoch(
      String query, long number, String prepared, List<TransactionFinisher.Part> parts) {
    Map<String, Object> marker = epoch(query, number);
    marker.put("prepared", prepared);
    if (parts != null) {
      marker.put("parts", parts.stream().map(TransactionFinisher.Part::toJson).toList());
    }
    return marker;
  }

  /** Returns the record for a value. */
  ProducerRecord<byte[], byte[]> record(String key, Map<String, Object> value) {
    try {
      return new ProducerRecord<>(
          topic, 0, key.getBytes(StandardCharsets.UTF_8), MAPPER.writeValueAsBytes(value));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Parses the executors' transactions in a marker's JSON. */
  static List<TransactionFinisher.Part> parts(String json) throws JsonProcessingException {
    List<Map<String, Object>> found = MAPPER.readValue(json, new TypeReference<>() {});
    return found.stream().map(TransactionFinisher.Part::of).toList();
  }

  /** Renders markers as JSON. */
  static String render(Map<String, Map<String, Object>> markers) {
    try {
      return MAPPER.writeValueAsString(markers);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  @SuppressWarnings("unchecked")
  Map<String, Object> parse(byte[] value) throws IOException {
    try {
      return MAPPER.readValue(value, Map.class);
    } catch (JsonProcessingException foreign) {
      throw new IOException("topic \"" + topic + "\" has a record that is not a marker", foreign);
    }
  }
}
