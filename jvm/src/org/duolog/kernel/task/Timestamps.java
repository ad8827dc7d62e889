package org.duolog.kernel.task;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.record.PartitionTimes;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.spec.Program;

/**
 * The timestamps of a source's records, their own or computed ones, and the handling of invalid
 * ones: null, negative, or beyond Spark's range (the year 294246).
 *
 * <p>Threads: each {@link Run} belongs to one task. Source: Kafka Streams TimestampExtractor and
 * its implementations FailOnInvalidTimestamp, LogAndSkipOnInvalidTimestamp,
 * UsePartitionTimeOnInvalidTimestamp.
 */
public final class Timestamps implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The first invalid timestamp: Spark counts microseconds in a long. */
  public static final long END_MS = Long.MAX_VALUE / 1000;

  private static final long NONE = -1;

  private final String applicationId;
  private final int source;
  private final Program computed;
  private final boolean usesPartitionTime;
  private final ErrorHandlers handlers;

  /**
   * @param computed computes a BIGINT over the record as it was read; null to use the record's own
   *     timestamp
   * @param invalid fail, skip or partition_time; null to use {@code handlers}
   */
  public Timestamps(
      String applicationId,
      int source,
      Program computed,
      String invalid,
      ErrorHandlers handlers) {
    this.applicationId = applicationId;
    this.source = source;
    this.computed = computed;
    this.usesPartitionTime = "partition_time".equals(invalid);
    this.handlers =
        invalid == null || usesPartitionTime
            ? handlers
            : handlers.deserializing("skip".equals(invalid));
  }

  /** The error handlers for records without a valid timestamp. */
  public ErrorHandlers handlers() {
    return handlers;
  }

  public Run open(int partition) {
    if (computed != null) {
      computed.open(partition);
    }
    return new Run();
  }

  public void close() {
    if (computed != null) {
      computed.close();
    }
  }

  /** The timestamps of one task. */
  public final class Run {
    private final PartitionTimes.Reader times =
        usesPartitionTime ? new PartitionTimes.Reader(applicationId, source) : null;
    private String problem;

    /**
     * Returns the record's timestamp; negative if it is invalid, which {@link #problem} explains.
     */
    public long of(SourceRecord record, InternalRow parsed) {
      long ts = computed == null ? valid(record.getTs()) : computed(parsed);
      if (times != null) {
        ts = ts < 0 ? instead(record) : ts;
        times.observe(record, ts);
      }
      return ts;
    }

    /** Describes why the last timestamp is invalid. */
    public String problem() {
      return problem;
    }

    public void keep() {
      if (times != null) {
        times.keep();
      }
    }

    private long computed(InternalRow parsed) {
      UnsafeRow row = computed.apply(parsed);
      if (row.isNullAt(0)) {
        problem = "its timestamp is null";
        return NONE;
      }
      return valid(row.getLong(0));
    }

    private long valid(long ts) {
      boolean far = ts >= END_MS;
      problem = far ? "its timestamp is after the year 294246" : "its timestamp is " + ts;
      return far ? NONE : ts;
    }

    /** Returns the time of the partition; if it is not known, the record's own timestamp. */
    private long instead(SourceRecord record) {
      long known = times.before(record);
      return known == PartitionTimes.UNKNOWN ? valid(record.getTs()) : known;
    }
  }
}
