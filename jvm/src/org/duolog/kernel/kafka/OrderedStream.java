package org.duolog.kernel.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.task.SourceOffsets;
import org.duolog.kernel.topology.MultiTopicReader;

/**
 * A topic's stream as Spark's Kafka source reads it, except for the ends of its micro-batches and
 * for deleted records.
 *
 * <p>Threads: Spark's stream execution thread.
 */
final class OrderedStream
    implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final MicroBatchStream kafka;
  private final CaseInsensitiveStringMap options;
  private final BatchTimeLimit horizon;
  private final LostRecords lost;
  private final SourceRegistry.Route way;
  private final Map<TopicPartition, Long> until;

  OrderedStream(
      MicroBatchStream kafka,
      CaseInsensitiveStringMap options,
      BatchTimeLimit horizon,
      SourceRegistry.Route way) {
    this.way = way;
    this.kafka = kafka;
    this.options = options;
    this.horizon = horizon;
    this.lost = new LostRecords(options);
    String last = options.get("horizon.until");
    this.until = last == null ? null : SourceOffsets.read(last);
    horizon.add(this);
  }

  /** Turns its records into envelopes. */
  MultiTopicReader readers() {
    return way.readers();
  }

  /** Routes its records to their tasks without a shuffle; null if there is a shuffle. */
  PartitionRouting direct() {
    return way.direct();
  }

  boolean isTable() {
    return options.getBoolean("horizon.table", false);
  }

  /** Returns true if its table must be loaded before anything else is read. */
  boolean isGlobal() {
    return options.getBoolean("horizon.global", false);
  }

  /** Returns the start of the first micro-batch, before Spark has passed it. */
  Offset firstStart() {
    String start = options.get("horizon.start");
    return start == null ? kafka.initialOffset() : kafka.deserializeOffset(start);
  }

  /**
   * Returns the latest possible end of a micro-batch from {@code start}, by its number of records.
   */
  Offset boundedEnd(Offset start) {
    return notBeyond(start, admission().latestOffset(start, getDefaultReadLimit()));
  }

  /**
   * Returns the end of the topic when {@link #boundedEnd} was called; null if it has no partition.
   */
  Offset available() {
    return notBeyond(null, admission().reportLatestOffset());
  }

  /** Limits offsets to where reading must stop; partitions without a limit are unchanged. */
  private Offset notBeyond(Offset start, Offset end) {
    if (until == null || end == null) {
      return end;
    }
    Map<TopicPartition, Long> begins = start == null ? Map.of() : SourceOffsets.read(start.json());
    Map<TopicPartition, Long> ends = new HashMap<>();
    SourceOffsets.read(end.json())
        .forEach(
            (partition, at) -> {
              Long last = until.getOrDefault(partition, begins.get(partition));
              if (last != null) {
                // If the start is beyond the limit, nothing is read.
                ends.put(
                    partition, Math.max(Math.min(at, last), begins.getOrDefault(partition, 0L)));
              }
            });
    return deserializeOffset(SourceOffsets.write(ends));
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    return horizon.end(this, start);
  }

  @Override
  public Offset latestOffset() {
    return kafka.latestOffset();
  }

  @Override
  public Offset reportLatestOffset() {
    return admission().reportLatestOffset();
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    return admission().getDefaultReadLimit();
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    admission().prepareForTriggerAvailableNow();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    InputPartition[] planned = kafka.planInputPartitions(horizon.present(lost, start, end), end);
    InputPartition[] byTask = way.direct() == null ? null : byTask(planned, way.direct());
    return byTask == null ? planned : byTask;
  }

  /** Returns one part for each task; null if a task would have two. */
  private static InputPartition[] byTask(InputPartition[] planned, PartitionRouting direct) {
    KafkaBatchInputPartition[] parts = new KafkaBatchInputPartition[direct.tasks()];
    for (InputPartition partition : planned) {
      KafkaBatchInputPartition part = (KafkaBatchInputPartition) partition;
      int task = direct.task(part.offsetRange().topicPartition().partition());
      if (parts[task] != null) {
        return null;
      }
      parts[task] = part;
    }
    return Stream.of(parts).map(RecordReader.Part::new).toArray(InputPartition[]::new);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new RecordReader.Factory();
  }

  @Override
  public Offset initialOffset() {
    return kafka.initialOffset();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return kafka.deserializeOffset(json);
  }

  @Override
  public void commit(Offset end) {
    kafka.commit(end);
  }

  @Override
  public Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
    return ((ReportsSourceMetrics) kafka).metrics(latestConsumedOffset);
  }

  @Override
  public void stop() {
    horizon.remove(this);
    kafka.stop();
  }

  @Override
  public String toString() {
    return kafka.toString();
  }

  private SupportsTriggerAvailableNow admission() {
    return (SupportsTriggerAvailableNow) kafka;
  }
}
