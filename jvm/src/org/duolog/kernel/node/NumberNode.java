package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.Counter;
import org.duolog.kernel.store.Newest;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.task.Store;

/**
 * Numbers the changes of a table, and computes the foreign key of its rows.
 *
 * <pre>  a row  ->  its columns, its foreign key, the number of the change
 * </pre>
 *
 * <p>Both sides of a change have its number, so they are equal if nothing else has changed. If the
 * foreign key cannot be computed, the row counts as deleted downstream. Threads: one at a time.
 */
final class NumberNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Counter counter;
  private final Program values;
  private final Program oldValues;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;
  private transient UnsafeRow number;

  NumberNode(Counter counter, Program values, int keyColumns, int valueColumns) {
    this.counter = counter;
    this.values = own(values);
    this.oldValues = own(values.twin());
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 1);
    number = Newest.row();
  }

  @Override
  public boolean needsOld() {
    return true;
  }

  @Override
  public Store store() {
    return counter;
  }

  @Override
  public void process(Change change) {
    if (!change.latest) {
      scope.outOfOrder(this);
      return;
    }
    number.setLong(0, counter.next());
    UnsafeRow old = null;
    if (change.old != null) {
      old = oldValues.applyToOld(operands.of(change.key, change.old, number, change.oldTs));
    }
    UnsafeRow value = null;
    if (change.value != null) {
      var row = operands.of(change.key, change.value, number, change.ts);
      value = applyToNew(values, row, change);
    }
    forward(out.set(change.key, value, old, change));
  }
}
