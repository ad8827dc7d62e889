package org.duolog.kernel.kafka;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.task.SourceOffsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles records that were deleted before they were read, for example by retention: a micro-batch
 * continues with the first remaining record, and the deleted ones are counted once. Source: Kafka
 * Streams, whose consumers go back to the earliest record.
 *
 * <p>A topic that was created again has offsets below those that were read; that is a different
 * case.
 *
 * <p>Threads: Spark's stream execution thread.
 */
final class LostRecords {
  private static final Logger LOGGER = LoggerFactory.getLogger(LostRecords.class);

  /** Retention takes minutes, so a recent answer can be reused. */
  private static final long ASKED_FOR_NANOS = 1_000_000_000L;

  private final String applicationId;
  private final boolean continues;
  private final Map<TopicPartition, Long> counted = new HashMap<>();
  private Map<TopicPartition, Long> firsts = Map.of();
  private long askedAt;

  LostRecords(CaseInsensitiveStringMap options) {
    applicationId = options.get("horizon.application");
    continues = "log_and_continue".equals(options.get("horizon.lost"));
  }

  /**
   * Returns the offsets where a read from {@code start} must begin; ignores records after
   * {@code end}.
   */
  Map<TopicPartition, Long> passedOver(Offset start, Offset end, RecordTimes topics) {
    Map<TopicPartition, Long> begins = new HashMap<>(SourceOffsets.read(start.json()));
    if (!continues) {
      return begins;
    }
    Map<TopicPartition, Long> ends = SourceOffsets.read(end.json());
    ask(ends, topics);
    begins.replaceAll(
        (partition, at) -> {
          long first = firsts.getOrDefault(partition, 0L);
          long from = Math.max(at, Math.min(first, ends.getOrDefault(partition, at)));
          count(partition, at, from);
          return from;
        });
    return begins;
  }

  private void ask(Map<TopicPartition, Long> ends, RecordTimes topics) {
    long now = System.nanoTime();
    if (now - askedAt > ASKED_FOR_NANOS || !firsts.keySet().containsAll(ends.keySet())) {
      firsts = topics.firstOffsets(ends.keySet());
      askedAt = now;
    }
  }

  private void count(TopicPartition partition, long from, long to) {
    long begin = Math.max(from, counted.getOrDefault(partition, 0L));
    if (begin < to) {
      counted.put(partition, to);
      Metrics.of(applicationId).lost(partition.topic(), partition.partition(), begin, to - begin);
      LOGGER.warn(
          "{} records of {} were deleted before they were read, from offset {} on",
          to - begin,
          partition,
          begin);
    }
  }
}
