package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Gives each record of a stream another timestamp; if it is null or negative, the record fails.
 *
 * <p>Source: Kafka Streams {@code Record.withTimestamp}.
 */
final class TimeNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Program time;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  TimeNode(Program time, int keyColumns, int valueColumns) {
    this.time = own(time);
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
    UnsafeRow row = time.apply(operands.of(change.key, change.value, null, change.ts));
    if (row.isNullAt(0) || row.getLong(0) < 0) {
      String found = row.isNullAt(0) ? "null" : String.valueOf(row.getLong(0));
      throw new RecordException(
          new IllegalArgumentException("the new timestamp is " + found));
    }
    forward(out.set(change.key, change.value, null, row.getLong(0), 0, change.headers));
  }
}
