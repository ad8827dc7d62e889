package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Forwards a record for each element of its arrays, which are traversed in parallel and in order.
 *
 * <p>The arrays are computed once, followed by the index {@code at}; the new value reads both. So
 * errors occur before anything is forwarded. A record without elements is dropped; with
 * {@code outer} it is forwarded once, without arrays and index, and a null value is forwarded
 * unchanged.
 *
 * <p>Source: Kafka Streams KStreamFlatMapValues; SQL's UNNEST.
 */
final class ExplodeNode extends Node {
  private static final long serialVersionUID = 1L;
  private static final int FIRST = 0;

  private final Program arrays;
  private final Program values;
  private final boolean outer;
  private final int keyColumns;
  private final int valueColumns;
  private final int arrayColumns;
  private transient Operands operands;
  private transient Operands withElement;

  /** @param arrays computes the arrays, all of one length, followed by an index as INT */
  ExplodeNode(
      Program arrays,
      Program values,
      boolean outer,
      int keyColumns,
      int valueColumns,
      int arrayColumns) {
    this.arrays = own(arrays);
    this.values = own(values);
    this.outer = outer;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.arrayColumns = arrayColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
    withElement = new Operands(keyColumns, valueColumns, arrayColumns + 1, scope);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (change.value == null) {
      if (outer) {
        forward(change);
      }
      return;
    }
    UnsafeRow elements = arrays.apply(operands.of(change.key, change.value, null, change.ts));
    int count = elements.isNullAt(FIRST) ? 0 : elements.getArray(FIRST).numElements();
    for (int at = 0; at < count; at++) {
      elements.setInt(arrayColumns, at);
      forwardElements(change, elements);
    }
    if (count == 0 && outer) {
      forwardElements(change, null);
    }
  }

  private void forwardElements(Change change, UnsafeRow elements) {
    var row = withElement.of(change.key, change.value, elements, change.ts);
    forward(out.set(change.key, values.apply(row), null, change));
  }
}
