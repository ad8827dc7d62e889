package org.duolog.kernel.task;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;

/** Offsets of Kafka's source in Spark's JSON: {@code {"topic": {"partition": offset}}}. */
public final class SourceOffsets {
  private static final ObjectMapper JSON = new ObjectMapper();

  private SourceOffsets() {}

  /**
   * Parses offsets.
   *
   * @throws IllegalArgumentException if the text has another form
   */
  public static Map<TopicPartition, Long> read(String offsets) {
    Map<TopicPartition, Long> found = new LinkedHashMap<>();
    try {
      JSON.readValue(offsets, new TypeReference<Map<String, Map<Integer, Long>>>() {})
          .forEach(
              (topic, partitions) ->
                  partitions.forEach(
                      (number, at) -> found.put(new TopicPartition(topic, number), at)));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("invalid offsets: " + offsets, e);
    }
    return found;
  }

  /** Renders offsets, sorted by topic and partition. */
  public static String write(Map<TopicPartition, Long> offsets) {
    Map<String, Map<Integer, Long>> topics = new TreeMap<>();
    offsets.forEach(
        (partition, at) ->
            topics
                .computeIfAbsent(partition.topic(), unused -> new TreeMap<>())
                .put(partition.partition(), at));
    try {
      return JSON.writeValueAsString(topics);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(e);
    }
  }
}
