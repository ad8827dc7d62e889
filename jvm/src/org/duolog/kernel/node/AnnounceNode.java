package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;

/**
 * Announces the number of the latest row of a key for each change of a numbered table, and whether
 * it can be joined: not if it was deleted, or if it has no foreign key in an inner join.
 *
 * <p>A row that equals the previous one is not announced: a response to the previous row is correct
 * for it too.
 *
 * <p>The response of the join can arrive before the announcement of the row that requested it, or
 * after a newer announcement. The number distinguishes them; deleted rows are not remembered.
 */
final class AnnounceNode extends Node {
  private static final long serialVersionUID = 1L;
  private static final int COLUMNS = 2;

  private final boolean left;
  private final int foreignKeyFrom;
  private final int numberAt;
  private transient UnsafeRow announced;

  /**
   * @param valueColumns number of columns of its input; the last ones are the foreign key and the
   *     number
   */
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
