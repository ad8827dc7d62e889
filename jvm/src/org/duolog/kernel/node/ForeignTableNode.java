package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.BucketStore;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Sends each change of a table to all rows of another table that have subscribed to it.
 *
 * <p>There may be a million of them. They are processed one by one, each after the response to the
 * previous one has left. Source: Kafka Streams ForeignTableJoinProcessorSupplier.
 */
final class ForeignTableNode extends Node {
  private static final long serialVersionUID = 1L;

  private final BucketStore subscriptions;
  private final Program foreignKey;
  private final SubscriptionResponses answers;
  private final int storedKeyColumns;
  private transient Operands stored;

  /**
   * @param foreignKey computes the foreign key of a stored subscription's key: other keys may share
   *     its bucket
   * @param answers creates the response from a stored key, its row, and the table's row
   */
  ForeignTableNode(
      BucketStore subscriptions,
      Program foreignKey,
      SubscriptionResponses answers,
      int storedKeyColumns) {
    this.subscriptions = subscriptions;
    this.foreignKey = own(foreignKey);
    this.answers = answers;
    this.storedKeyColumns = storedKeyColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    answers.open(partition);
    stored = new Operands(storedKeyColumns, 0, 0);
  }

  @Override
  public void close() {
    super.close();
    answers.close();
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (!change.latest) {
      scope.late(this);
      return;
    }
    UnsafeRow key = change.key.copy();
    UnsafeRow row = change.value == null ? null : change.value.copy();
    Outcome outcome = row == null ? Outcome.MISSING : Outcome.THERE;
    long ts = change.ts;
    byte[] headers = change.headers;
    scope.later(
        subscriptions.steps(
            SubscriptionsNode.bucket(key),
            (of, subscription, unused) -> {
              if (foreignKey.apply(stored.of(of, null, null, 0)).equals(key)) {
                forward(answers.fill(out, of, subscription, row, outcome, ts, headers));
              }
            }));
  }
}
