package org.duolog.kernel;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Aggregates by key: keeps an accumulator, hands on the table of its results.
 *
 * <pre>
 *   stream   value        -> add           (null key or value: dropped)
 *   table    old -> subtract, then new -> add, as one update
 * </pre>
 *
 * <p>A record for which a step or a result has no value leaves the accumulator as it was. An
 * accumulator stays when its group is empty. Its timestamp is the largest of its records'. What
 * is handed on, and when, is the {@link KeyValueStore}'s business. Source: Kafka Streams
 * KStreamAggregate, KTableAggregate.
 */
final class FoldNode extends Node {
  private static final long serialVersionUID = 1L;

  private final KeyValueStore store;
  private final boolean table;
  private final Program init;
  private final Program add;
  private final Program subtract;
  private final Program results;
  private final Program oldResults;
  private final int keyColumns;
  private final int valueColumns;
  private final int accColumns;
  private transient Operands operands;
  private transient boolean withOld;
  private transient boolean resultsMayFail;

  FoldNode(
      KeyValueStore store,
      boolean table,
      Program init,
      Program add,
      Program subtract,
      Program results,
      int keyColumns,
      int valueColumns,
      int accColumns) {
    this.store = store;
    this.table = table;
    this.init = own(init);
    this.add = own(add);
    this.subtract = subtract == null ? null : own(subtract);
    this.results = own(results);
    this.oldResults = own(results.twin());
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.accColumns = accColumns;
  }

  @Override
  void open(Scope scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, accColumns);
    withOld = childNeedsOld();
    resultsMayFail = results.mayFail();
    boolean isRead = children().length > 0; // Or only looked up.
    store.tell(isRead ? this::updated : (entry, old, oldTs, headers) -> {});
  }

  @Override
  boolean needsOld() {
    return table;
  }

  @Override
  Store store() {
    return store;
  }

  @Override
  void process(Change change) {
    boolean takesBack = table && change.old != null;
    if (change.key == null || (change.value == null && !takesBack)) {
      return;
    }
    KeyValueStore.Entry entry = store.lookup(change.key);
    UnsafeRow acc = folded(entry.row, change, takesBack);
    if (acc != null) {
      long ts = entry.row == null ? change.ts : Math.max(entry.ts, change.ts);
      if (resultsMayFail) {
        results.apply(operands.of(entry.key, null, acc, ts)); // Before anything is written.
      }
      store.update(entry, acc, ts, change.headers);
    }
  }

  /** The accumulator after the change; null where there is none before and after. */
  private UnsafeRow folded(UnsafeRow acc, Change change, boolean takesBack) {
    UnsafeRow current = acc;
    if (takesBack && current != null) {
      current = subtract.apply(operands.of(change.key, change.old, current, change.oldTs));
    }
    if (change.value != null) {
      if (current == null) {
        current = init.apply(operands.of(change.key, change.value, null, change.ts));
      }
      current = add.apply(operands.of(change.key, change.value, current, change.ts));
    }
    return current;
  }

  private void updated(
      KeyValueStore.Entry entry, UnsafeRow oldAcc, long oldTs, byte[] headers) {
    UnsafeRow old =
        withOld && oldAcc != null
            ? oldResults.applyToOld(operands.of(entry.key, null, oldAcc, oldTs))
            : null;
    UnsafeRow value = results.apply(operands.of(entry.key, null, entry.row, entry.ts));
    forward(out.set(entry.key, value, old, entry.ts, oldTs, headers));
  }
}
