package org.duolog.kernel;

import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A topic's stream as Spark's Kafka source reads it, but for the ends of its micro-batches, and
 * for records that are no longer there.
 *
 * <p>Threads: Spark's stream execution thread.
 */
final class OrderedStream
    implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private final MicroBatchStream kafka;
  private final CaseInsensitiveStringMap options;
  private final Horizon horizon;
  private final LostRecords lost;

  OrderedStream(MicroBatchStream kafka, CaseInsensitiveStringMap options, Horizon horizon) {
    this.kafka = kafka;
    this.options = options;
    this.horizon = horizon;
    this.lost = new LostRecords(options);
    horizon.add(this);
  }

  boolean isTable() {
    return options.getBoolean("horizon.table", false);
  }

  /** Whether its table is to be there before anything else is read. */
  boolean isGlobal() {
    return options.getBoolean("horizon.global", false);
  }

  /** Where the first micro-batch begins, before Spark has said so. */
  Offset firstStart() {
    String start = options.get("horizon.start");
    return start == null ? kafka.initialOffset() : kafka.deserializeOffset(start);
  }

  /** Where a micro-batch from {@code start} on ends at most, by the number of its records. */
  Offset boundedEnd(Offset start) {
    return admission().latestOffset(start, getDefaultReadLimit());
  }

  /** Where the topic ended when {@link #boundedEnd} was asked; null where it has no partition. */
  Offset available() {
    return admission().reportLatestOffset();
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
    return kafka.planInputPartitions(horizon.present(lost, start, end), end);
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return kafka.createReaderFactory();
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
