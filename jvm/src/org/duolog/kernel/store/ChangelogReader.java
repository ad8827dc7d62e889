package org.duolog.kernel.store;

import java.io.Serializable;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.duolog.kernel.metrics.Metrics;

/**
 * Reads partitions of changelogs from their begin to where they end, and tells of each entry whether it was committed.
 *
 * <p>With a client of its own, which it closes: partitions are read once, and each by one task. What was read counts in
 * {@link Metrics}, and counts again where a task begins again. Threads: one at a time.
 */
public final class ChangelogReader implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Duration WAIT = Duration.ofSeconds(1);

  private final HashMap<String, Object> settings;
  private final Changelog.Committed committed;
  private final String run;

  /**
   * @param settings of Kafka's clients
   * @param run what is read counts for it, as {@link Metrics} names it
   */
  public ChangelogReader(HashMap<String, Object> settings, Changelog.Committed committed, String run) {
    this.settings = settings;
    this.committed = committed;
    this.run = run;
    // A changelog is compacted: what it began with may have gone.
    settings.put("auto.offset.reset", "earliest");
    settings.put("enable.auto.commit", "false");
  }

  /** Takes an entry; its value is null where it was removed. */
  public interface Taker {
    void take(ConsumerRecord<byte[], byte[]> entry, boolean isCommitted);
  }

  /**
   * Hands over all entries, of each partition in their order.
   *
   * @throws org.apache.kafka.common.KafkaException the broker does not answer, or does not let them be read
   */
  public void read(Collection<TopicPartition> partitions, Taker taker) {
    ByteArrayDeserializer bytes = new ByteArrayDeserializer();
    try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Changelog.Committed.InOrder> begun = new HashMap<>();
      Map<TopicPartition, Long> ends = new HashMap<>(consumer.endOffsets(partitions));
      while (!passed(consumer, ends)) {
        ConsumerRecords<byte[], byte[]> read = consumer.poll(WAIT);
        if (read.isEmpty()) {
          consumer.endOffsets(partitions); // Fails where no broker answers; poll would wait for ever.
        }
        for (TopicPartition partition : read.partitions()) {
          Changelog.Committed.InOrder inOrder =
              begun.computeIfAbsent(partition, unused -> committed.inOrder());
          for (ConsumerRecord<byte[], byte[]> entry : read.records(partition)) {
            if (inOrder.isBeyond(entry.headers())) {
              throw new CommitsLostException(partition.topic(), partition.partition(), entry.offset());
            }
            taker.take(entry, inOrder.has(entry.headers()));
          }
        }
        count(read.count());
      }
    }
  }

  /** Takes out what was read to its end; tells whether that is all. */
  private boolean passed(Consumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends) {
    Metrics metrics = Metrics.of(run);
    ends.entrySet()
        .removeIf(
            end -> {
              TopicPartition partition = end.getKey();
              // Markers of transactions and what was compacted away have offsets too.
              long position = consumer.position(partition);
              AtomicLong told = metrics.position(partition.topic(), partition.partition());
              told.set(position);
              return position >= end.getValue();
            });
    return ends.isEmpty();
  }

  private void count(int entries) {
    Metrics.of(run).recordsIn.add(entries);
  }
}
