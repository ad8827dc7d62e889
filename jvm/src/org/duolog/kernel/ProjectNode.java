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
    UnsafeRow value = computed(values, change.key, change.value, change.ts);
    UnsafeRow old = withOld ? computed(oldValues, change.key, change.old, change.oldTs) : null;
    forward(out.set(change.key, value, old, change));
  }

  private UnsafeRow computed(Program program, UnsafeRow key, UnsafeRow row, long ts) {
    return row == null ? null : program.apply(operands.of(key, row, null, ts));
  }
}
