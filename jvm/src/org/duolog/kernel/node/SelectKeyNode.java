package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Gives each record of a stream a new key. A key of only nulls counts as null, unless nulls are
 * kept.
 *
 * <p>Source: Kafka Streams KStreamMap as used by selectKey.
 */
final class SelectKeyNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Program keys;
  private final boolean keepsNulls;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  SelectKeyNode(Program keys, boolean keepsNulls, int keyColumns, int valueColumns) {
    this.keys = own(keys);
    this.keepsNulls = keepsNulls;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    UnsafeRow key = keys.apply(operands.of(change.key, change.value, null, change.ts));
    forward(out.set(!keepsNulls && allNull(key) ? null : key, change.ownValue(), null, change));
  }

  private static boolean allNull(UnsafeRow row) {
    for (int i = 0; i < row.numFields(); i++) {
      if (!row.isNullAt(i)) {
        return false;
      }
    }
    return true;
  }
}
