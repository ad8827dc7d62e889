package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.Newest;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Turns each response into an upsert of the join's table, unless it is stale: then a newer row has
 * its own subscription.
 *
 * <p>Without a right row there is no result, or one with nulls in a left join. A repeated "missing"
 * is forwarded only if a stale response may have hidden that the row was deleted. Source: Kafka
 * Streams ResponseJoinProcessorSupplier.
 */
final class ForeignJoinNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Newest newest;
  private final KeyValueStore results;
  private final boolean left;
  private final Program values;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  ForeignJoinNode(
      Newest newest,
      KeyValueStore results,
      boolean left,
      Program values,
      int keyColumns,
      int valueColumns) {
    this.newest = newest;
    this.results = results;
    this.left = left;
    this.values = own(values);
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    UnsafeRow answer = change.value;
    Outcome outcome = Outcome.of(answer.getInt(SubscriptionResponses.OUTCOME));
    boolean gone = outcome == Outcome.GONE;
    if (!newest.accepts(change.key, answer.getLong(SubscriptionResponses.NUMBER), gone)) {
      return;
    }
    if (outcome == Outcome.STILL_MISSING && results.lookup(change.key).row == null) {
      return;
    }
    UnsafeRow value = null;
    if (outcome == Outcome.THERE || (left && !gone)) {
      value = applyToNew(values, operands.of(change.key, answer, null, change.ts), change);
    }
    forward(out.set(change.key, value, null, change));
  }
}
