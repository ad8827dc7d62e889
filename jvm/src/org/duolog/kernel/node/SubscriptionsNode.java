package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.BucketStore;
import org.duolog.kernel.store.ValueGetter;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.task.Store;

/**
 * Stores subscriptions to the rows of a table, and responds at once with the current row.
 *
 * <pre>  bucket = hash of the foreign key,  foreign key and the subscribing row's key  ->  that row
 * </pre>
 *
 * <p>A subscription's value is the key of its row, its number, the {@link Instruction}, and its
 * columns; it is stored without the instruction. Without a foreign key nothing is stored. A
 * response has the later timestamp of the subscription and the row. Source: Kafka Streams
 * SubscriptionReceiveProcessorSupplier, SubscriptionJoinProcessorSupplier.
 */
final class SubscriptionsNode extends Node {
  private static final long serialVersionUID = 1L;
  private static final long SEED = 42;
  private static final int BUCKET_BITS = 43;

  private final BucketStore store;
  private final ValueGetter table;
  private final Program storedKey;
  private final Program storedRow;
  private final SubscriptionResponses answers;
  private final int keyColumns;
  private final int valueColumns;
  private final int instructionAt;
  private transient Operands operands;

  SubscriptionsNode(
      BucketStore store,
      ValueGetter table,
      Program storedKey,
      Program storedRow,
      SubscriptionResponses answers,
      int keyColumns,
      int valueColumns,
      int instructionAt) {
    this.store = store;
    this.table = table;
    this.storedKey = own(storedKey);
    this.storedRow = own(storedRow);
    this.answers = answers;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.instructionAt = instructionAt;
  }

  /** Returns the bucket with the subscriptions to a row; others may share it. */
  static long bucket(UnsafeRow foreignKey) {
    return XXH64.hashUnsafeBytes(
            foreignKey.getBaseObject(),
            foreignKey.getBaseOffset(),
            foreignKey.getSizeInBytes(),
            SEED)
        >>> Long.SIZE - BUCKET_BITS;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    table.open(partition);
    answers.open(partition);
    operands = new Operands(keyColumns, valueColumns, 0);
  }

  @Override
  public void close() {
    super.close();
    answers.close();
    table.close();
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public Store store() {
    return store;
  }

  @Override
  public void process(Change change) {
    Instruction instruction = Instruction.of(change.value.getInt(instructionAt));
    UnsafeRow row = null;
    if (change.key != null) {
      keep(change, instruction);
      row = table.get(change.key);
    }
    Outcome outcome = instruction.outcome(row != null);
    if (outcome != null) {
      long ts = row == null ? change.ts : Math.max(change.ts, table.ts);
      forward(answers.fill(out, change.key, change.value, row, outcome, ts, change.headers));
    }
  }

  private void keep(Change change, Instruction instruction) {
    long bucket = bucket(change.key);
    var subscription = operands.of(change.key, change.value, null, change.ts);
    UnsafeRow key = storedKey.apply(subscription);
    if (instruction.keeps()) {
      store.put(bucket, key, storedRow.apply(subscription), change.ts);
    } else {
      store.delete(bucket, key);
    }
  }
}
