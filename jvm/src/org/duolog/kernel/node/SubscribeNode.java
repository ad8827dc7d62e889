package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Sends a subscription for each change of a numbered table to the tasks of the other table: under
 * the row's foreign key, with the row, its number and an instruction.
 *
 * <pre>
 *   foreign key      inner join                          left join
 *   first one        ANSWER_IF_THERE                     ANSWER
 *   the same         ANSWER_IF_THERE                     ANSWER
 *   another one      old: DELETE, new: ANSWER            old: DELETE, new: ANSWER
 *   none any more    old: DELETE_AND_ANSWER              old: DELETE, null: ANSWER
 *   row deleted      old: DELETE_AND_ANSWER              old: DELETE, null: DELETE_AND_ANSWER
 *   none as before   nothing                             null: ANSWER
 * </pre>
 *
 * <p>A key that contains a null counts as null. Source: Kafka Streams
 * SubscriptionSendProcessorSupplier.
 */
final class SubscribeNode extends Node {
  private static final long serialVersionUID = 1L;
  private static final int DETAILS = 2;

  private final boolean left;
  private final Program foreignKey;
  private final Program oldForeignKey;
  private final Program values;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;
  private transient Operands sent;
  private transient UnsafeRow details;

  /** @param values computes the value from a row, with a0 = its number and a1 = the instruction */
  SubscribeNode(
      boolean left, Program foreignKey, Program values, int keyColumns, int valueColumns) {
    this.left = left;
    this.foreignKey = own(foreignKey);
    this.oldForeignKey = own(foreignKey.twin());
    this.values = own(values);
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0);
    sent = new Operands(keyColumns, valueColumns, DETAILS);
    int size = UnsafeRow.calculateBitSetWidthInBytes(DETAILS) + DETAILS * Long.BYTES;
    details = UnsafeRow.createFromByteArray(size, DETAILS);
  }

  @Override
  public boolean needsOld() {
    return true;
  }

  @Override
  public void process(Change change) {
    if (change.value == null && change.old == null) {
      return;
    }
    UnsafeRow row = change.value == null ? change.old : change.value;
    details.setLong(0, row.getLong(valueColumns - 1));
    UnsafeRow old = whole(oldForeignKey, change.key, change.old);
    UnsafeRow now = whole(foreignKey, change.key, change.value);
    if (left) {
      sendOfLeft(change, old, now);
    } else {
      sendOfInner(change, old, now);
    }
  }

  private void sendOfLeft(Change change, UnsafeRow old, UnsafeRow now) {
    if (old != null && !old.equals(now)) {
      send(change, old, Instruction.DELETE);
    }
    send(change, now, change.value == null ? Instruction.DELETE_AND_ANSWER : Instruction.ANSWER);
  }

  private void sendOfInner(Change change, UnsafeRow old, UnsafeRow now) {
    if (now == null) {
      if (old != null) {
        send(change, old, Instruction.DELETE_AND_ANSWER);
      }
    } else if (old == null || old.equals(now)) {
      send(change, now, Instruction.ANSWER_IF_THERE);
    } else {
      send(change, old, Instruction.DELETE);
      send(change, now, Instruction.ANSWER);
    }
  }

  private void send(Change change, UnsafeRow to, Instruction instruction) {
    details.setInt(1, instruction.ordinal());
    UnsafeRow row = instruction.keeps() ? change.value : null;
    UnsafeRow value = values.apply(sent.of(change.key, row, details, change.ts));
    forward(out.set(to, value, null, change));
  }

  /** Returns the foreign key of a row; null if it has none. */
  private UnsafeRow whole(Program program, UnsafeRow key, UnsafeRow row) {
    if (row == null) {
      return null;
    }
    UnsafeRow found = program.apply(operands.of(key, row, null, 0));
    return found.anyNull() ? null : found;
  }
}
