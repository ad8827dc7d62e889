package org.duolog.kernel.record;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/**
 * A suppressed change, as a store keeps it; part of the checkpoint format.
 *
 * <pre>
 *   the new value, the value that was emitted last, its timestamp, headers and origin of the last
 *   record
 * </pre>
 *
 * <p>Values are bytes of an UnsafeRow, null if there is none. The row's own timestamp is that of
 * the last record. Threads: not shared.
 */
public final class SuppressedChange {
  public static final int COLUMNS = 5;
  private static final int VALUE = 0;
  private static final int PRIOR = 1;
  private static final int PRIOR_TS = 2;
  private static final int HEADERS = 3;
  private static final int ORIGIN = 4;

  private final int valueColumns;
  private final UnsafeRowWriter writer = new UnsafeRowWriter(COLUMNS);

  public SuppressedChange(int valueColumns) {
    this.valueColumns = valueColumns;
  }

  /**
   * Returns the row that stores a change together with the one that waits already; valid until the
   * next call.
   *
   * @param before the row that waits; null if none does
   */
  public UnsafeRow of(Change change, UnsafeRow before, byte[] origin) {
    byte[] prior = before == null ? bytes(change.old) : binary(before, PRIOR);
    long priorTs = before == null ? change.oldTs : before.getLong(PRIOR_TS);
    writer.reset();
    writer.zeroOutNullBytes();
    write(VALUE, bytes(change.value));
    write(PRIOR, prior);
    writer.write(PRIOR_TS, priorTs);
    write(HEADERS, change.headers);
    write(ORIGIN, origin);
    return writer.getRow();
  }

  public UnsafeRow value(UnsafeRow row) {
    return row(row, VALUE);
  }

  /** Returns the value that was emitted last, or null. */
  public UnsafeRow prior(UnsafeRow row) {
    return row(row, PRIOR);
  }

  public static long priorTs(UnsafeRow row) {
    return row.getLong(PRIOR_TS);
  }

  public static byte[] headers(UnsafeRow row) {
    return binary(row, HEADERS);
  }

  public static byte[] origin(UnsafeRow row) {
    return binary(row, ORIGIN);
  }

  private void write(int column, byte[] bytes) {
    if (bytes == null) {
      writer.setNullAt(column);
    } else {
      writer.write(column, bytes);
    }
  }

  private UnsafeRow row(UnsafeRow from, int column) {
    byte[] bytes = binary(from, column);
    if (bytes == null) {
      return null;
    }
    UnsafeRow row = new UnsafeRow(valueColumns);
    row.pointTo(bytes, bytes.length);
    return row;
  }

  private static byte[] bytes(UnsafeRow row) {
    return row == null ? null : row.getBytes();
  }

  private static byte[] binary(UnsafeRow row, int column) {
    return row.isNullAt(column) ? null : row.getBinary(column);
  }
}
