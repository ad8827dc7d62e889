package org.duolog.kernel.kafka;

import java.io.IOException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.task.Deferred;
import org.duolog.kernel.task.StartOrder;

/**
 * Readers of Kafka's records in real time that also return, with an empty row, when a look-up of
 * their task has been answered.
 *
 * <pre>
 *   record 7, record 8, nothing for 3 ms, row of offset -1: what waited for an answer continues,
 *   record 9
 * </pre>
 *
 * <p>While a task waits for its next record nothing else runs in it, so answered look-ups would
 * wait for that record. Such a row does not change the position in the partition. A reader also
 * sets the clock of its task: {@link EpochClock}. Threads: a task's.
 */
record WakingReaders(PartitionReaderFactory readers, long plannedAtMs)
    implements PartitionReaderFactory {
  private static final long serialVersionUID = 1L;
  private static final long LOOKS_EVERY_MS = 2;
  private static final int OFFSET = 4;

  /** Creates readers for an epoch that is planned now. */
  WakingReaders(PartitionReaderFactory readers) {
    this(readers, EpochClock.timeMs());
  }

  @Override
  @SuppressWarnings("unchecked") // Spark requests this type.
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    EpochClock.start(TaskContext.get(), plannedAtMs);
    return new Waking((SupportsRealTimeRead<InternalRow>) readers.createReader(partition));
  }

  private static final class Waking implements SupportsRealTimeRead<InternalRow> {
    private final SupportsRealTimeRead<InternalRow> records;
    private InternalRow none;

    Waking(SupportsRealTimeRead<InternalRow> records) {
      this.records = records;
    }

    @Override
    public RecordStatus nextWithTimeout(Long nowMs, Long timeoutMs) throws IOException {
      none = null;
      if (StartOrder.stopsTask()) {
        return RecordStatus.newStatusWithoutArrivalTime(false);
      }
      long endMs = nowMs + timeoutMs;
      long atMs = nowMs;
      while (Deferred.anyWaits()) {
        if (Deferred.anyIsAnswered()) {
          none = records.get().copy();
          none.setLong(OFFSET, SourceRecord.NO_OFFSET);
          return RecordStatus.newStatusWithoutArrivalTime(true);
        }
        RecordStatus status =
            records.nextWithTimeout(atMs, Math.max(0, Math.min(endMs - atMs, LOOKS_EVERY_MS)));
        atMs = EpochClock.timeMs();
        if (status.hasRecord() || atMs >= endMs) {
          return status;
        }
      }
      return records.nextWithTimeout(atMs, endMs - atMs);
    }

    @Override
    public InternalRow get() {
      return none == null ? records.get() : none;
    }

    @Override
    public boolean next() throws IOException {
      return records.next();
    }

    @Override
    public PartitionOffset getOffset() {
      return records.getOffset();
    }

    @Override
    public void close() throws IOException {
      records.close();
    }
  }
}
