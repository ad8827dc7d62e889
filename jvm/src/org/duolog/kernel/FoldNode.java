package org.duolog.kernel;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Aggregates by key: keeps an accumulator, hands on the table of its results.
 *
 * <pre>
 *   stream   value        -> add           (null key or value: dropped)
 *   table    old -> subtract, then new -> add, as one update
 * </pre>
 *
 * <p>An accumulator stays when its group is empty. Its timestamp is the largest of its records'. In
 * a micro-batch with a record cache only the last update of each key is handed on, in the order of
 * first updates, with the result before the first one as old value; beyond the cache's size they are
 * handed on early, with the headers of the last record. Source: Kafka Streams KStreamAggregate, KTableAggregate, CachingKeyValueStore.
 */
final class FoldNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Store store;
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
  private transient boolean cached;
  private transient List<Store.Entry> pending;
  private transient long pendingBytes;

  FoldNode(
      Store store,
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
    cached = !scope.realTime && scope.cacheBytesMax > 0;
    pending = new ArrayList<>();
    pendingBytes = 0;
  }

  @Override
  boolean needsOld() {
    return table;
  }

  @Override
  void process(Change change) {
    if (change.key == null || (change.value == null && !table)) {
      return;
    }
    Store.Entry entry = store.lookup(change.key);
    UnsafeRow acc = updated(entry.row, change);
    if (acc == null) {
      return;
    }
    boolean existed = entry.row != null;
    UnsafeRow old =
        withOld && existed && !entry.pending ? result(oldResults, entry) : null;
    long oldTs = entry.ts;
    store.putCopy(entry, acc, existed ? Math.max(entry.ts, change.ts) : change.ts);
    if (cached) {
      hold(entry, old, oldTs, change.headers);
    } else {
      forward(
          out.set(
              entry.key, result(results, entry), old, entry.ts, oldTs, change.headers));
    }
  }

  @Override
  void finish() {
    for (Store.Entry entry : pending) {
      UnsafeRow old = entry.pendingOld;
      byte[] headers = entry.pendingHeaders;
      entry.pending = false;
      entry.pendingOld = null;
      entry.pendingHeaders = null;
      forward(
          out.set(
              entry.key, result(results, entry), old, entry.ts, entry.pendingOldTs, headers));
    }
    pending.clear();
    pendingBytes = 0;
  }

  /** The accumulator after the change; null where there is none before and after. */
  private UnsafeRow updated(UnsafeRow acc, Change change) {
    UnsafeRow current = acc;
    if (table && change.old != null && current != null) {
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

  private void hold(Store.Entry entry, UnsafeRow old, long oldTs, byte[] headers) {
    entry.pendingHeaders = headers;
    if (entry.pending) {
      return;
    }
    entry.pending = true;
    entry.pendingOld = old == null ? null : old.copy();
    entry.pendingOldTs = oldTs;
    pending.add(entry);
    pendingBytes += entry.bytes();
    if (pendingBytes > scope.cacheBytesMax) {
      finish();
    }
  }

  private UnsafeRow result(Program program, Store.Entry entry) {
    return program.apply(operands.of(entry.key, null, entry.row, entry.ts));
  }
}
