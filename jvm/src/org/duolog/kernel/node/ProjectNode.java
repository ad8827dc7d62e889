package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Computes new value columns; a null value stays null. For a table, both the old and the new value
 * of a change are computed.
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
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
    withOld = oldValues != null && childNeedsOld();
  }

  @Override
  public boolean needsOld() {
    return oldValues != null && childNeedsOld();
  }

  @Override
  public void process(Change change) {
    UnsafeRow value = null;
    if (change.value != null) {
      InternalRow row = operands.of(change.key, change.value, null, change.ts);
      value = oldValues == null ? values.apply(row) : applyToNew(values, row, change);
    }
    UnsafeRow old = null;
    if (withOld && change.old != null) {
      old = oldValues.applyToOld(operands.of(change.key, change.old, null, change.oldTs));
    }
    forward(out.set(change.key, value, old, change));
  }
}
