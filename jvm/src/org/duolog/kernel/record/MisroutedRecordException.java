package org.duolog.kernel.record;

/**
 * A record belongs to another task than that of the partition it was written to: its producer has another
 * partitioner than Kafka's Java client. The query is to begin again with a shuffle.
 */
public final class MisroutedRecordException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public MisroutedRecordException(int partition, int task) {
    super(String.format("a record of partition %d belongs to task %d", partition, task));
  }
}
