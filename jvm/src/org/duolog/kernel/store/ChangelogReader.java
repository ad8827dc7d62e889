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
 * Reads partitions of changelogs from start to end, and determines for each entry whether it was
 * committed.
 *
 * <p>Uses its own client and closes it: partitions are read once, each by one task. Entries are
 * counted in {@link Metrics}, again if a task starts again. Threads: one at a time.
 */
public final class ChangelogReader implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Duration WAIT = Duration.ofSeconds(1);

  private final HashMap<String, Object> settings;
  private final Changelog.Committed committed;
  private final String run;

  /**
   * @param settings settings of Kafka's clients
   * @param run the run that counts the entries, as {@link Metrics} names it
   */
  public ChangelogReader(
      HashMap<String, Object> settings, Changelog.Committed committed, String run) {
    this.settings = settings;
    this.committed = committed;
    this.run = run;
    // A changelog is compacted: its first records may be gone.
    settings.put("auto.offset.reset", "earliest");
    settings.put("enable.auto.commit", "false");
  }

  /** Receives an entry; its value is null if it was removed. */
  public interface Taker {
    void take(ConsumerRecord<byte[], byte[]> entry, boolean isCommitted);
  }

  /**
   * Passes on all entries, those of each partition in order.
   *
   * @throws org.apache.kafka.common.KafkaException if the broker does not answer, or refuses access
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
          // Fails if the broker does not answer; poll would wait forever.
          consumer.endOffsets(partitions);
        }
        for (TopicPartition partition : read.partitions()) {
          Changelog.Committed.InOrder inOrder =
              begun.computeIfAbsent(partition, unused -> committed.inOrder());
          for (ConsumerRecord<byte[], byte[]> entry : read.records(partition)) {
            if (inOrder.isBeyond(entry.headers())) {
              throw new CommitsLostException(
                  partition.topic(), partition.partition(), entry.offset());
            }
            taker.take(entry, inOrder.has(entry.headers()));
          }
        }
        count(read.count());
      }
    }
  }

  /** Removes partitions that have been read to the end; returns true if none is left. */
  private boolean passed(Consumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends) {
    Metrics metrics = Metrics.of(run);
    ends.entrySet()
        .removeIf(
            end -> {
              TopicPartition partition = end.getKey();
              // Markers of transactions and compacted records have offsets too.
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
