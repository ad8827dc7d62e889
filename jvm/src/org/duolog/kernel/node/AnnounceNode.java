package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;

/**
 * Says of each change of a numbered table which number the newest row of a key has, and whether it may be
 * joined: not if it was deleted, nor, in an inner join, without a foreign key.
 *
 * <p>A row that is the same as before is not spoken of: an answer to the one before it is right for this one too.
 */
final class AnnounceNode extends Node {
  private static final long serialVersionUID = 1L;
  private static final int COLUMNS = 2;

  private final boolean left;
  private final int foreignKeyFrom;
  private final int numberAt;
  private transient UnsafeRow announced;

  /** @param valueColumns of its input: the last ones are the foreign key and the number */
  AnnounceNode(boolean left, int foreignColumns, int valueColumns) {
    this.left = left;
    this.numberAt = valueColumns - 1;
    this.foreignKeyFrom = numberAt - foreignColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    int size = UnsafeRow.calculateBitSetWidthInBytes(COLUMNS) + COLUMNS * Long.BYTES;
    announced = UnsafeRow.createFromByteArray(size, COLUMNS);
  }

  @Override
  public boolean needsOld() {
    return true;
  }

  @Override
  public void process(Change change) {
    UnsafeRow row = change.value == null ? change.old : change.value;
    if (row == null || (change.value != null && change.value.equals(change.old))) {
      return;
    }
    announced.setLong(0, row.getLong(numberAt));
    announced.setBoolean(1, change.value != null && (left || hasForeignKey(change.value)));
    forward(out.set(change.key, announced, null, change));
  }

  private boolean hasForeignKey(UnsafeRow row) {
    for (int column = foreignKeyFrom; column < numberAt; column++) {
      if (row.isNullAt(column)) {
        return false;
      }
    }
    return true;
  }
}
