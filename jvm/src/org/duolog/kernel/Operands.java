package org.duolog.kernel;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The row that a node's expressions read: key columns, value columns, extra columns (the table's
 * side of a join, or an accumulator), and the timestamp. A missing part reads as nulls.
 *
 * <p>Nothing is copied; the returned row is valid until the next call. Threads: not shared.
 */
final class Operands {
  private static final StructType TIME = new StructType().add("ts", DataTypes.LongType, false);

  private final InternalRow nullKey;
  private final InternalRow nullValue;
  private final InternalRow nullExtra;
  private final SpecificInternalRow time = new SpecificInternalRow(TIME);
  private final JoinedRow left = new JoinedRow();
  private final JoinedRow right = new JoinedRow();
  private final JoinedRow all = new JoinedRow();

  Operands(int keyColumns, int valueColumns, int extraColumns) {
    nullKey = new GenericInternalRow(keyColumns);
    nullValue = new GenericInternalRow(valueColumns);
    nullExtra = new GenericInternalRow(extraColumns);
  }

  InternalRow of(InternalRow key, InternalRow value, InternalRow extra, long ts) {
    time.setLong(0, ts);
    left.apply(key == null ? nullKey : key, value == null ? nullValue : value);
    right.apply(extra == null ? nullExtra : extra, time);
    return all.apply(left, right);
  }
}
