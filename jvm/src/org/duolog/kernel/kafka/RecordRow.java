package org.duolog.kernel.kafka;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.SourceRecord;

/**
 * A Kafka record on its way from {@link RecordReader} to {@link IngestExec}, in the form of a row:
 * Spark counts one row for each record, and no columns are encoded only to be decoded again.
 *
 * <p>To others it has no columns. Threads: not shared; the instance is reused for the next record.
 */
final class RecordRow extends GenericInternalRow {
  private static final long serialVersionUID = 1L;
  private static final Object[] NO_COLUMNS = {};

  private transient ConsumerRecord<byte[], byte[]> record;

  RecordRow() {
    super(NO_COLUMNS);
  }

  RecordRow of(ConsumerRecord<byte[], byte[]> record) {
    this.record = record;
    return this;
  }

  /** Returns the record in a row. */
  static SourceRecord open(InternalRow row) {
    ConsumerRecord<byte[], byte[]> record = ((RecordRow) row).record;
    SourceRecord read =
        new SourceRecord(
            record.key(),
            record.value(),
            record.partition(),
            record.offset(),
            FarTimes.near(record.timestamp()),
            encoded(record.headers()));
    read.setTopic(record.topic());
    return read;
  }

  /** Most records have none. */
  private static byte[] encoded(org.apache.kafka.common.header.Headers headers) {
    return headers.toArray().length == 0 ? null : Headers.encode(headers);
  }
}
