package org.duolog.kernel.node;

import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Changes headers of records: removes some, and appends others.
 *
 * <p>A new header replaces all with its name. For a null value the expressions read null columns; a
 * header may be null. Source: Kafka Streams {@code Record.withHeaders}.
 */
final class HeadersNode extends Node {
  private static final long serialVersionUID = 1L;

  private final boolean clears;
  private final HashSet<String> removed;
  private final List<String> written;
  private final Program values;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  /**
   * @param clears true if all existing headers are removed
   * @param removed names of headers to remove
   * @param written names of headers to append, in order; {@code values} computes their bytes
   */
  HeadersNode(
      boolean clears,
      List<String> removed,
      List<String> written,
      Program values,
      int keyColumns,
      int valueColumns) {
    this.clears = clears;
    this.removed = new HashSet<>(removed);
    this.removed.addAll(written);
    this.written = List.copyOf(written);
    this.values = own(values);
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
    UnsafeRow row = values.apply(operands.of(change.key, change.value, null, change.ts));
    Headers.Writer headers = new Headers.Writer();
    if (!clears) {
      headers.addAllBut(change.headers, removed);
    }
    for (int i = 0; i < written.size(); i++) {
      headers.add(written.get(i), row.isNullAt(i) ? null : row.getBinary(i));
    }
    byte[] bytes = headers.bytes();
    forward(out.set(change.key, change.value, null, change.ts, 0, bytes));
  }
}
