package org.duolog.kernel.node;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Operands;

/**
 * Creates responses to subscriptions.
 *
 * <pre>
 *   key of the subscribing row  ->  its number, the {@link Outcome}, its columns, the right row's
 * </pre>
 *
 * <p>Threads: one at a time between open and close.
 */
final class SubscriptionResponses implements Serializable {
  private static final long serialVersionUID = 1L;
  static final int NUMBER = 0;
  static final int OUTCOME = 1;

  private final Program keys;
  private final Program values;
  private final int keyColumns;
  private final int valueColumns;
  private final int rightColumns;
  private transient Operands operands;

  /**
   * @param values computes the response from a subscription and a row; its outcome is overwritten
   */
  SubscriptionResponses(
      Program keys, Program values, int keyColumns, int valueColumns, int rightColumns) {
    this.keys = keys;
    this.values = values;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.rightColumns = rightColumns;
  }

  void open(int partition) {
    keys.open(partition);
    values.open(partition);
    operands = new Operands(keyColumns, valueColumns, rightColumns);
  }

  void close() {
    keys.close();
    values.close();
  }

  /** Fills a response to a subscription, with or without the requested row. */
  Change fill(
      Change answer,
      UnsafeRow key,
      UnsafeRow subscription,
      UnsafeRow right,
      Outcome outcome,
      long ts,
      byte[] headers) {
    UnsafeRow to = keys.apply(operands.of(key, subscription, right, ts));
    UnsafeRow value = values.apply(operands.of(key, subscription, right, ts));
    value.setInt(OUTCOME, outcome.ordinal());
    return answer.set(to, value, null, ts, ts, headers);
  }
}
