package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/** Turns what a {@link ProcessNode} forwards to one of its outputs into records. */
final class ProcessOutputNode extends Node {
  private static final long serialVersionUID = 1L;

  private final int output;
  private final Program keys;
  private final Program values;
  private transient Operands operands;

  ProcessOutputNode(int output, Program keys, Program values) {
    this.output = output;
    this.keys = own(keys);
    this.values = own(values);
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(0, ProcessNode.FORWARDED_COLUMNS, 0, scope);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (change.value.getInt(ProcessNode.OUTPUT) != output) {
      return;
    }
    InternalRow row = operands.of(null, change.value, null, change.ts);
    UnsafeRow key = change.value.isNullAt(ProcessNode.KEY) ? null : keys.apply(row);
    UnsafeRow value = change.value.isNullAt(ProcessNode.VALUE) ? null : values.apply(row);
    forward(out.set(key == null || key.anyNull() && isNull(key) ? null : key, value, null, change));
  }

  private static boolean isNull(UnsafeRow key) {
    for (int i = 0; i < key.numFields(); i++) {
      if (!key.isNullAt(i)) {
        return false;
      }
    }
    return true;
  }
}
