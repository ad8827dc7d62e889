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
 * The timestamps of records in a topic, by a consumer of its own, which is opened when first needed.
 *
 * <p>Threads: one at a time.
 */
class RecordTimes {
  private static final String KAFKA = "kafka.";
  private static final Duration TIMEOUT = Duration.ofSeconds(15);

  /** Records before the asked one that are looked at: they may have later timestamps. */
  private static final int RECORDS_BEFORE = 200;

  private final Map<String, Object> config = new HashMap<>();
  private KafkaConsumer<byte[], byte[]> opened;

  /** @param options of Spark's source; those of the consumer begin with "kafka." */
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
    // Where records were deleted, the first one that is left tells the time.
    config.put("auto.offset.reset", "earliest");
  }

  void close() {
    if (opened != null) {
      opened.close(Duration.ZERO);
      opened = null;
    }
  }

  /**
   * The largest timestamp up to the record at {@code offset}, as far as those shortly before it tell;
   * none where no record follows.
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
        throw new TimeoutException("no record of " + partition + " at " + offset + " in " + TIMEOUT);
      }
    }
    return OptionalLong.empty();
  }

  /** The first offset whose record has this timestamp or a later one, of partitions that have one. */
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

  /** The first offset of each partition that is still there. */
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
