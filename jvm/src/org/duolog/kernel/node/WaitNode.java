package org.duolog.kernel.node;

import org.duolog.kernel.metrics.NodeCounts;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.TimeOrderedRecords;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.task.Store;

/**
 * Delays each record of a stream until stream time has passed it by the grace period: by then the
 * joined table has the rows of its time, even late ones.
 *
 * <p>Stream time is that of the records that have waited here. A record that is late by more than
 * the grace period is forwarded at once, and so is one without a key, for which no row can arrive.
 * A record without a value is dropped, as it would be at the join. Source: Kafka Streams
 * KStreamKTableJoinProcessor with a buffer, KIP-923.
 */
final class WaitNode extends Node {
  private static final long serialVersionUID = 1L;

  private final TimeOrderedRecords waiting;
  private final long graceMs;
  private final Program keyBytes;
  private final int keyColumns;
  private transient Operands operands;

  WaitNode(TimeOrderedRecords waiting, long graceMs, Program keyBytes, int keyColumns) {
    this.waiting = waiting;
    this.graceMs = graceMs;
    this.keyBytes = own(keyBytes);
    this.keyColumns = keyColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, 0, 0, scope);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public Store store() {
    return waiting;
  }

  @Override
  public void process(Change change) {
    if (change.value == null) {
      counts.drop(NodeCounts.Reason.NULL_VALUE);
      return;
    }
    if (change.key == null || change.ts < waiting.streamTime() - graceMs) {
      forward(change);
      return;
    }
    byte[] bytes = keyBytes.bytes(operands.of(change.key, null, null, change.ts));
    waiting.put(bytes, change, scope.origin);
    release();
    if (scope.realTime) {
      waiting.write();
    }
  }

  private void release() {
    byte[] current = scope.origin;
    long due = waiting.streamTime() - graceMs;
    for (TimeOrderedRecords.Taken next; (next = waiting.take(due)) != null; ) {
      scope.origin = next.origin();
      forward(out.set(next.key(), next.value(), null, next.ts(), 0, next.headers()));
    }
    scope.origin = current;
  }
}
