package org.duolog.kernel.task;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.spec.Program;

/**
 * Computes the row of a join from a row of each of two tables, and knows which of them it needs.
 * Threads: one at a time between open and close.
 */
public final class JoinedRow implements Serializable {
  private static final long serialVersionUID = 1L;

  private final boolean needsOwn;
  private final boolean needsOther;
  private final Program values;
  private final int keyColumns;
  private final int ownColumns;
  private final int otherColumns;
  private transient Operands operands;

  public JoinedRow(
      boolean needsOwn,
      boolean needsOther,
      Program values,
      int keyColumns,
      int ownColumns,
      int otherColumns) {
    this.needsOwn = needsOwn;
    this.needsOther = needsOther;
    this.values = values;
    this.keyColumns = keyColumns;
    this.ownColumns = ownColumns;
    this.otherColumns = otherColumns;
  }

  /** Returns a second instance, whose rows stay valid independently of these. */
  public JoinedRow twin() {
    return new JoinedRow(
        needsOwn, needsOther, values.twin(), keyColumns, ownColumns, otherColumns);
  }

  public void open(int partition) {
    values.open(partition);
    operands = new Operands(keyColumns, ownColumns, otherColumns);
  }

  public void close() {
    values.close();
  }

  public boolean needsOther() {
    return needsOther;
  }

  public Program values() {
    return values;
  }

  public boolean isThere(UnsafeRow own, UnsafeRow other) {
    return own == null ? other != null && !needsOwn : other != null || !needsOther;
  }

  public InternalRow operands(UnsafeRow key, UnsafeRow own, UnsafeRow other, long ts) {
    return operands.of(key, own, other, ts);
  }

  public UnsafeRow applyToOld(UnsafeRow key, UnsafeRow own, UnsafeRow other, long ts) {
    return values.applyToOld(operands.of(key, own, other, ts));
  }

  /** Returns the later timestamp of the rows that exist. */
  public static long ts(UnsafeRow own, long ownTs, UnsafeRow other, long otherTs) {
    if (own == null) {
      return otherTs;
    }
    return other == null ? ownTs : Math.max(ownTs, otherTs);
  }
}
