package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.Store;

/**
 * Turns a stream of upserts into a table: keeps the latest value by key, and forwards old and new
 * values.
 *
 * <p>Null keys are ignored. A null value deletes, and is forwarded even if nothing was deleted.
 * Source: Kafka Streams KTableSource.
 */
final class TableNode extends Node {
  private static final long serialVersionUID = 1L;

  private final KeyValueStore store;

  TableNode(KeyValueStore store) {
    this.store = store;
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
    if (change.key == null) {
      scope.drop(this, change);
      return;
    }
    store.advanceTime(change.ts);
    KeyValueStore.Entry entry = store.lookup(change.key);
    UnsafeRow old = entry.row;
    long oldTs = entry.ts;
    if (change.value == null) {
      store.delete(entry);
    } else {
      store.put(entry, change.value.copy(), change.ts);
    }
    forward(out.set(change.key, change.value, old, change.ts, oldTs, change.headers));
  }
}
