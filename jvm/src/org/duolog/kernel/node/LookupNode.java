package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.metrics.NodeCounts;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.ValueGetter;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Joins each record of a stream with the table's row of the same key, or of a computed key: the
 * current row, or for a versioned table the row at the record's time.
 *
 * <p>Records with null values are dropped. Without a row (or a key) an inner join drops the record
 * and a left join reads nulls. The result has the stream record's timestamp. Source: Kafka Streams
 * KStreamKTableJoinProcessor, KStreamGlobalKTableJoin; KIP-962 for null keys of a left join.
 */
final class LookupNode extends Node {
  private static final long serialVersionUID = 1L;

  private final ValueGetter table;
  private final Program keys;
  private final boolean left;
  private final Program values;
  private final int keyColumns;
  private final int valueColumns;
  private final int rightColumns;
  private transient Operands operands;

  /** @param keys computes the key to look up; null to use the record's own */
  LookupNode(
      ValueGetter table,
      Program keys,
      boolean left,
      Program values,
      int keyColumns,
      int valueColumns,
      int rightColumns) {
    this.table = table;
    this.keys = keys == null ? null : own(keys);
    this.left = left;
    this.values = own(values);
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.rightColumns = rightColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, rightColumns, scope);
    table.open(partition);
  }

  @Override
  public void close() {
    super.close();
    table.close();
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (change.value == null) {
      counts.drop(NodeCounts.Reason.NULL_VALUE);
      return;
    }
    UnsafeRow key = keys == null ? change.key : computedKey(change);
    UnsafeRow right = key == null ? null : table.get(key, change.ts);
    if (right != null || left) {
      UnsafeRow joined =
          values.apply(operands.of(change.key, change.value, right, change.ts));
      forward(out.set(change.key, joined, null, change));
    } else if (key == null) {
      counts.drop(NodeCounts.Reason.NULL_KEY);
    }
  }

  /** A key of only nulls counts as null. */
  private UnsafeRow computedKey(Change change) {
    UnsafeRow key = keys.apply(operands.of(change.key, change.value, null, change.ts));
    for (int i = 0; i < key.numFields(); i++) {
      if (!key.isNullAt(i)) {
        return key;
      }
    }
    return null;
  }
}
