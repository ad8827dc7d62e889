package org.duolog.kernel.node;

import java.nio.charset.StandardCharsets;
import org.duolog.kernel.metrics.Prints;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Prints the first records; of a table the new rows, and null for deletions.
 *
 * <p>Source: Kafka Streams KStreamPrint.
 */
final class PrintNode extends Node {
  private static final long serialVersionUID = 1L;

  private final String applicationId;
  private final String label;
  private final long limit;
  private final Program keyText;
  private final Program valueText;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;
  private transient Prints prints;

  /** @param limit shared by all tasks in this JVM */
  PrintNode(
      String applicationId,
      String label,
      long limit,
      Program keyText,
      Program valueText,
      int keyColumns,
      int valueColumns) {
    this.applicationId = applicationId;
    this.label = label;
    this.limit = limit;
    this.keyText = own(keyText);
    this.valueText = own(valueText);
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0);
    prints = Prints.of(applicationId);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (limit < Long.MAX_VALUE && !prints.mayPrint(name(), limit)) {
      return;
    }
    var row = operands.of(change.key, change.value, null, change.ts);
    String key = change.key == null ? null : text(keyText.bytes(row));
    String value = change.value == null ? null : text(valueText.bytes(row));
    prints.add(label, change.ts, key, value);
  }

  private static String text(byte[] json) {
    return json == null ? null : new String(json, StandardCharsets.UTF_8);
  }
}
