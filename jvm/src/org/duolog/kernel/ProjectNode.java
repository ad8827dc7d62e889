package org.duolog.kernel;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Computes new value columns; a null value stays null. Of a table, both sides of a change.
 *
 * <p>Source: Kafka Streams KStreamMapValues, KTableMapValues; ksqlDB's SELECT for null values.
 */
final class ProjectNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Program values;
  private final Program oldValues;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;
  private transient boolean withOld;

  ProjectNode(Program values, boolean table, int keyColumns, int valueColumns) {
    this.values = own(values);
    this.oldValues = table ? own(values.twin()) : null;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  void open(Scope scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0);
    withOld = oldValues != null && childNeedsOld();
  }

  @Override
  boolean needsOld() {
    return oldValues != null && childNeedsOld();
  }

  @Override
  void process(Change change) {
    UnsafeRow value = computed(values, change, change.value);
    UnsafeRow old = withOld ? computed(oldValues, change, change.old) : null;
    forward(out.set(change.key, value, old, change));
  }

  private UnsafeRow computed(Program program, Change change, UnsafeRow row) {
    return row == null ? null : program.apply(operands.of(change.key, row, null, change.ts));
  }
}
