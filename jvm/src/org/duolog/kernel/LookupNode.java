package org.duolog.kernel;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Joins each record of a stream with the table's row of the same key, as it is now.
 *
 * <p>A null value is dropped. Without a row (or a key) an inner join drops the record and a left
 * join reads nulls. The result carries the stream record's timestamp. Source: Kafka Streams
 * KStreamKTableJoinProcessor; KIP-962 for null keys of a left join.
 */
final class LookupNode extends Node {
  private static final long serialVersionUID = 1L;

  private final ValueGetter table;
  private final boolean left;
  private final Program values;
  private final int keyColumns;
  private final int valueColumns;
  private final int rightColumns;
  private transient Operands operands;

  LookupNode(
      ValueGetter table,
      boolean left,
      Program values,
      int keyColumns,
      int valueColumns,
      int rightColumns) {
    this.table = table;
    this.left = left;
    this.values = own(values);
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.rightColumns = rightColumns;
  }

  @Override
  void open(Scope scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, rightColumns, scope);
    table.open(partition);
  }

  @Override
  void close() {
    super.close();
    table.close();
  }

  @Override
  boolean needsOld() {
    return false;
  }

  @Override
  void process(Change change) {
    if (change.value == null) {
      return;
    }
    UnsafeRow right = change.key == null ? null : table.get(change.key);
    if (right != null || left) {
      UnsafeRow joined =
          values.apply(operands.of(change.key, change.value, right, change.ts));
      forward(out.set(change.key, joined, null, change));
    }
  }
}
