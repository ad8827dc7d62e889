package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Keeps the records for which the predicate holds; for a null value it reads null columns.
 *
 * <p>Of a table, both sides of a change are filtered. A change without sides is dropped; one that
 * has lost its new side is a deletion. Each version of a versioned table is forwarded, as a
 * deletion if the predicate does not hold: an older version must not be found in its place. Source:
 * Kafka Streams KStreamFilter, KTableFilter, KIP-914.
 */
final class FilterNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Program predicate;
  private final boolean table;
  private final boolean versioned;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  FilterNode(
      Program predicate, boolean table, boolean versioned, int keyColumns, int valueColumns) {
    this.predicate = own(predicate);
    this.table = table;
    this.versioned = versioned;
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
    return table;
  }

  @Override
  public void process(Change change) {
    if (!table) {
      if (predicate.test(operands.of(change.key, change.value, null, change.ts))) {
        forward(out.set(change.key, change.ownValue(), null, change));
      }
      return;
    }
    UnsafeRow value = change.value;
    if (value != null) {
      var row = operands.of(change.key, value, null, change.ts);
      value = Program.holds(applyToNew(predicate, row, change)) ? value : null;
    }
    UnsafeRow old = change.old;
    if (old != null) {
      var row = operands.of(change.key, old, null, change.oldTs);
      old = Program.holds(predicate.applyToOld(row)) ? old : null;
    }
    if (versioned || value != null || old != null) {
      forward(out.set(change.key, value, old, change));
    }
  }
}
