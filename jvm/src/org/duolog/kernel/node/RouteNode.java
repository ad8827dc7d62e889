package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Sends records to the next sub-topology, under a new key or their own.
 *
 * <p>With a new key, a record without a value or with a null in its new key is dropped. For a
 * table, the old value is sent to its old key, then the new value to its new key; if both keys are
 * equal, one change has both values. Versions that are not the latest of their key are ignored. A
 * record of a stream may be sent to another task than that of its key's partition. Source: Kafka
 * Streams KTableRepartitionMap, KIP-904, Repartitioned.
 */
final class RouteNode extends Node {
  private static final long serialVersionUID = 1L;

  private final int edge;
  private final int subtopology;
  private final boolean rekeyed;
  private final boolean table;
  private final Program keys;
  private final Program oldKeys;
  private final Program keyBytes;
  private final Program partition;
  private final long partitions;
  private final int keyColumns;
  private final int valueColumns;
  private final int newKeyColumns;
  private transient Operands operands;
  private transient Operands keyOperands;

  /**
   * @param partition computes the partition of a record; null if the key determines it
   * @param partitions the maximum number of partitions
   */
  RouteNode(
      int edge,
      int subtopology,
      boolean rekeyed,
      boolean table,
      Program keys,
      Program keyBytes,
      Program partition,
      long partitions,
      int keyColumns,
      int valueColumns,
      int newKeyColumns) {
    this.edge = edge;
    this.subtopology = subtopology;
    this.rekeyed = rekeyed;
    this.table = table;
    this.keys = keys == null ? null : own(keys);
    this.oldKeys = keys == null || !table ? null : own(keys.twin());
    this.keyBytes = own(keyBytes);
    this.partition = partition == null ? null : own(partition);
    this.partitions = partitions;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.newKeyColumns = newKeyColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
    keyOperands = new Operands(newKeyColumns, 0, 0);
  }

  @Override
  public boolean needsOld() {
    return table;
  }

  @Override
  public void process(Change change) {
    if (keys == null) {
      send(change.key, change.value, table ? change.old : null, change);
    } else if (table) {
      regroup(change);
    } else {
      if (change.value != null) {
        var row = operands.of(change.key, change.value, null, change.ts);
        UnsafeRow key = whole(keys.apply(row));
        if (key != null) {
          send(key, change.value, null, change);
        }
      }
    }
  }

  private void regroup(Change change) {
    if (!change.latest) {
      return;
    }
    UnsafeRow oldKey = null;
    if (change.old != null) {
      var row = operands.of(change.key, change.old, null, change.oldTs);
      oldKey = whole(oldKeys.applyToOld(row));
    }
    UnsafeRow newKey = null;
    if (change.value != null) {
      var row = operands.of(change.key, change.value, null, change.ts);
      newKey = whole(applyToNew(keys, row, change));
    }
    if (oldKey != null && oldKey.equals(newKey)) {
      send(newKey, change.value, change.old, change);
      return;
    }
    if (oldKey != null) {
      send(oldKey, null, change.old, change);
    }
    if (newKey != null) {
      send(newKey, change.value, null, change);
    }
  }

  /** Returns the key; null if a part of it is null. */
  private static UnsafeRow whole(UnsafeRow key) {
    return key == null || key.anyNull() ? null : key;
  }

  private void send(UnsafeRow key, UnsafeRow value, UnsafeRow old, Change of) {
    int task = task(key, value, of);
    Envelope envelope = Envelope.toEdge(edge, key, value, old, of, scope.origin);
    counts.forward();
    scope.emit(subtopology, task, rekeyed, envelope);
  }

  private int task(UnsafeRow key, UnsafeRow value, Change of) {
    if (partition != null) {
      UnsafeRow chosen = partition.apply(operands.of(key, value, null, of.ts));
      if (!chosen.isNullAt(0)) {
        if (chosen.getLong(0) < 0) {
          String what = "the partition is " + chosen.getLong(0);
          throw new RecordException(new IllegalArgumentException(what));
        }
        return scope.taskOf(chosen.getLong(0), partitions);
      }
    }
    byte[] partitionedBy =
        key == null ? null : keyBytes.bytes(keyOperands.of(key, null, null, of.ts));
    return scope.taskOf(partitionedBy, partitions);
  }
}
