package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.store.ValueGetter;
import org.duolog.kernel.task.JoinedRow;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;

/**
 * Joins each change of a table with the other table's current row of the same key.
 *
 * <pre>
 *   needs            left table's changes     right table's
 *   inner            own, other               own, other
 *   left             own                      other
 *   outer            either                   either
 * </pre>
 *
 * <p>Both sides must be in one sub-topology. If each side were with its own table and a copy of the
 * other, a change of both tables would be joined twice or never.
 *
 * <p>A join has two of these, one for each table, with the same children. Without a row that is
 * needed there is no result; other missing sides are read as nulls. A deletion is forwarded if the
 * other side exists, even if nothing was deleted. The result's timestamp is the later one of both
 * sides. Versions that are not the latest of their key are ignored, and counted as late. Source:
 * Kafka Streams KTableKTableInnerJoin, KTableKTableLeftJoin, KTableKTableRightJoin,
 * KTableKTableOuterJoin.
 */
final class JoinNode extends Node {
  private static final long serialVersionUID = 1L;

  private final ValueGetter other;
  private final JoinedRow joined;
  private final JoinedRow oldJoined;
  private transient boolean withOld;

  JoinNode(ValueGetter other, JoinedRow joined) {
    this.other = other;
    this.joined = joined;
    this.oldJoined = joined.twin();
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    other.open(partition);
    joined.open(partition);
    oldJoined.open(partition);
    withOld = childNeedsOld();
  }

  @Override
  public void close() {
    super.close();
    other.close();
    joined.close();
    oldJoined.close();
  }

  /**
   * If the other side may be missing, the old value determines whether there is a change to
   * forward.
   */
  @Override
  public boolean needsOld() {
    return !joined.needsOther() || childNeedsOld();
  }

  @Override
  public void process(Change change) {
    if (!change.latest) {
      scope.outOfOrder(this);
      return;
    }
    UnsafeRow row = other.get(change.key);
    if (row == null && (joined.needsOther() || (change.value == null && change.old == null))) {
      return;
    }
    long ts = row == null ? change.ts : Math.max(change.ts, other.ts);
    long oldTs = JoinedRow.ts(change.old, change.oldTs, row, other.ts);
    UnsafeRow value = null;
    if (joined.isThere(change.value, row)) {
      value =
          applyToNew(joined.values(), joined.operands(change.key, change.value, row, ts), change);
    }
    UnsafeRow old = null;
    if (withOld && oldJoined.isThere(change.old, row)) {
      old = oldJoined.applyToOld(change.key, change.old, row, oldTs);
    }
    forward(out.set(change.key, value, old, ts, oldTs, change.headers));
  }
}
