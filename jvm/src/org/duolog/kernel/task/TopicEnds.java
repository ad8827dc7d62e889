package org.duolog.kernel.task;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Asks the broker where partitions end, and whether a range of offsets contains a record.
 *
 * <p>Threads: any; one request at a time. Each method may throw Kafka's exceptions, and an
 * IllegalStateException after {@link #close}.
 */
final class TopicEnds {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  private static final Duration POLL = Duration.ofMillis(20);

  private final Consumer<byte[], byte[]> consumer;

  TopicEnds(Consumer<byte[], byte[]> consumer) {
    this.consumer = consumer;
  }

  /** A consumer with the client settings of an application, which commits nothing. */
  static Consumer<byte[], byte[]> consumer(Map<String, String> settings) {
    Map<String, Object> own = new HashMap<>(settings);
    own.put("enable.auto.commit", "false");
    return new KafkaConsumer<>(own, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  synchronized Map<TopicPartition, Long> of(Collection<TopicPartition> partitions) {
    return consumer.endOffsets(partitions, TIMEOUT);
  }

  /**
   * Returns true if the range from {@code start} to {@code end} has a record; transaction markers
   * do not count.
   */
  synchronized boolean holdsRecord(TopicPartition partition, long start, long end) {
    consumer.assign(List.of(partition));
    consumer.seek(partition, start);
    long until = System.nanoTime() + TIMEOUT.toNanos();
    while (consumer.position(partition) < end && System.nanoTime() < until) {
      for (var record : consumer.poll(POLL)) {
        return record.offset() < end;
      }
    }
    return consumer.position(partition) < end;
  }

  synchronized void close() {
    consumer.close(Duration.ZERO);
  }
}
