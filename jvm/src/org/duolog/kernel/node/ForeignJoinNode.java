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
 * Makes of each answer an upsert of the join's table, unless the row that asked is another one by now:
 * that one has asked for itself.
 *
 * <p>Without a right row there is no result, or one of nulls in a left join. That it is still missing is worth a
 * word only where a stale answer has hidden that it went. Source: Kafka Streams
 * ResponseJoinProcessorSupplier.
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
