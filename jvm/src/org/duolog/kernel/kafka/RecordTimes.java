package org.duolog.kernel.kafka;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Finds timestamps of records in a topic, with its own consumer, which is opened when first needed.
 *
 * <p>Threads: one at a time.
 */
class RecordTimes {
  private static final String KAFKA = "kafka.";
  private static final Duration TIMEOUT = Duration.ofSeconds(15);

  /** The number of preceding records that are read: they may have later timestamps. */
  private static final int RECORDS_BEFORE = 200;

  private final Map<String, Object> config = new HashMap<>();
  private KafkaConsumer<byte[], byte[]> opened;

  /** @param options options of Spark's source; those of the consumer start with "kafka." */
  RecordTimes(CaseInsensitiveStringMap options) {
    options
        .asCaseSensitiveMap()
        .forEach(
            (name, value) -> {
              if (name.startsWith(KAFKA)) {
                config.put(name.substring(KAFKA.length()), value);
              }
            });
    config.put("enable.auto.commit", "false");
    // If records were deleted, the first remaining one has the time.
    config.put("auto.offset.reset", "earliest");
  }

  void close() {
    if (opened != null) {
      opened.close(Duration.ZERO);
      opened = null;
    }
  }

  /**
   * Returns the largest timestamp up to the record at {@code offset}, considering records shortly
   * before it; empty if no record follows.
   */
  OptionalLong reached(TopicPartition partition, long start, long offset) {
    KafkaConsumer<byte[], byte[]> consumer = consumer();
    consumer.assign(List.of(partition));
    consumer.seek(partition, Math.max(start, offset - RECORDS_BEFORE));
    long until = System.nanoTime() + TIMEOUT.toNanos();
    long largest = Long.MIN_VALUE;
    while (consumer.position(partition) <= offset) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
        largest = Math.max(largest, record.timestamp());
        if (record.offset() >= offset) {
          return OptionalLong.of(largest);
        }
      }
      if (System.nanoTime() > until) {
        throw new TimeoutException(
            "no record of " + partition + " at " + offset + " in " + TIMEOUT);
      }
    }
    return OptionalLong.empty();
  }

  /**
   * Returns the first offset whose record has this timestamp or a later one, for partitions that
   * have one.
   */
  Map<TopicPartition, Long> firstFrom(Collection<TopicPartition> partitions, long time) {
    Map<TopicPartition, Long> asked = new HashMap<>();
    partitions.forEach(partition -> asked.put(partition, time));
    Map<TopicPartition, Long> found = new HashMap<>();
    consumer()
        .offsetsForTimes(asked)
        .forEach(
            (partition, at) -> {
              if (at != null) {
                found.put(partition, at.offset());
              }
            });
    return found;
  }

  /** Returns the first offset of each partition that still exists. */
  Map<TopicPartition, Long> firstOffsets(Collection<TopicPartition> partitions) {
    return consumer().beginningOffsets(partitions);
  }

  private KafkaConsumer<byte[], byte[]> consumer() {
    if (opened == null) {
      opened =
          new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
    return opened;
  }
}
