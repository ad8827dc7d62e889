package org.duolog.kernel.record;

/**
 * A record is in a partition of another task than that of its key: its producer does not partition
 * as Kafka's Java client does. The engine starts the query again with a shuffle.
 */
public final class MisroutedRecordException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public MisroutedRecordException(int partition, int task) {
    super(String.format("a record of partition %d belongs to task %d", partition, task));
  }
}
