package org.duolog.kernel.record;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The input of a node: a record of a stream, or a change of a table with its old value.
 *
 * <p>A node refills its own instance for each output, so a receiver must neither keep nor modify
 * it. A null key, value or old value means that there is none. Headers ({@link Headers}) are those
 * of the source record that caused the change, as Kafka Streams forwards them; null if it had none.
 * Threads: not shared.
 */
public final class Change {
  public UnsafeRow key;
  public UnsafeRow value;
  public UnsafeRow old;
  public long ts;

  /** The timestamp of the old row; undefined if there is no old row. */
  public long oldTs;

  public byte[] headers;

  /**
   * For a table: true if no row of the key has a later timestamp. A versioned table also forwards
   * rows that are not the latest.
   */
  public boolean latest = true;

  /**
   * True if {@code value} only carries results of Python functions for a record without a value.
   * The node that reads them ({@code PythonNode}) forwards a null value; no other node ever sees
   * this.
   */
  public boolean nullWithResults;

  /** The value, or null if it only carries results. */
  public UnsafeRow ownValue() {
    return nullWithResults ? null : value;
  }

  /**
   * Sets key and both values; takes timestamps and headers from the change that is being processed.
   */
  public Change set(UnsafeRow key, UnsafeRow value, UnsafeRow old, Change cause) {
    set(key, value, old, cause.ts, cause.oldTs, cause.headers);
    latest = cause.latest;
    return this;
  }

  public Change set(
      UnsafeRow key, UnsafeRow value, UnsafeRow old, long ts, long oldTs, byte[] headers) {
    this.key = key;
    this.value = value;
    this.old = old;
    this.ts = ts;
    this.oldTs = oldTs;
    this.headers = headers;
    this.latest = true;
    this.nullWithResults = false;
    return this;
  }
}
