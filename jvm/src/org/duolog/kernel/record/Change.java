package org.duolog.kernel.record;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * What one node hands to the next: a record of a stream, or a change of a table with its old value.
 *
 * <p>A node fills its own instance again and again, so a receiver neither keeps nor changes it. A
 * null key, value or old value is a null. Headers ({@link Headers}) are those of the record that set
 * this change off, as Kafka Streams forwards them; null where it had none. Threads: not shared.
 */
public final class Change {
  public UnsafeRow key;
  public UnsafeRow value;
  public UnsafeRow old;
  public long ts;

  /** The timestamp of the old row; means something only where there is one. */
  public long oldTs;

  public byte[] headers;

  /** Of a table: whether there is no later row of the key. A versioned table tells of others, too. */
  public boolean latest = true;

  /**
   * Whether {@code value} only carries results of Python functions for a record without a value. The node
   * that reads them ({@code PythonNode}) forwards a null value; no other node ever sees this.
   */
  public boolean nullWithResults;

  /** The value, or null where it only carries results. */
  public UnsafeRow ownValue() {
    return nullWithResults ? null : value;
  }

  /** Fills all but the sides from the change that is handled: its timestamps and its headers. */
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
