package org.duolog.kernel.kafka;

import java.io.Serializable;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.KafkaOffsetRange;
import org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer;

/**
 * Reads the records of a partition between two offsets, with Spark's cached consumers and its rules
 * for missing records.
 *
 * <p>Threads: one task's. Source: Spark's KafkaBatchPartitionReader.
 */
final class RecordReader implements PartitionReader<InternalRow> {
  private final KafkaBatchInputPartition read;
  private final KafkaOffsetRange range;
  private final KafkaDataConsumer consumer;
  private final RecordRow row = new RecordRow();
  private long next;

  private RecordReader(KafkaBatchInputPartition read) {
    this.read = read;
    this.range = read.offsetRange();
    this.consumer =
        KafkaDataConsumer.acquire(range.topicPartition(), read.executorKafkaParams());
    this.next = range.fromOffset();
  }

  @Override
  public boolean next() {
    if (next >= range.untilOffset()) {
      return false;
    }
    ConsumerRecord<byte[], byte[]> record =
        consumer.get(next, range.untilOffset(), read.pollTimeoutMs(), read.failOnDataLoss());
    if (record == null) { // The rest consists of transaction markers, or was compacted.
      next = range.untilOffset();
      return false;
    }
    row.of(record);
    next = record.offset() + 1;
    return true;
  }

  @Override
  public InternalRow get() {
    return row;
  }

  @Override
  public void close() {
    consumer.release();
  }

  /**
   * A task's part of a topic: a partition between two offsets, or nothing.
   *
   * @param partition what Spark's source has planned; null if there is nothing to read
   */
  record Part(KafkaBatchInputPartition partition) implements InputPartition {}

  /** Creates readers in tasks. */
  static final class Factory implements PartitionReaderFactory, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      if (partition instanceof Part part) {
        return part.partition() == null ? new Nothing() : new RecordReader(part.partition());
      }
      return new RecordReader((KafkaBatchInputPartition) partition);
    }
  }

  private static final class Nothing implements PartitionReader<InternalRow> {
    @Override
    public boolean next() {
      return false;
    }

    @Override
    public InternalRow get() {
      throw new IllegalStateException("there is no record");
    }

    @Override
    public void close() {}
  }
}
