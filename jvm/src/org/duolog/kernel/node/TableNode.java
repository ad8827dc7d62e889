package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.Store;

/**
 * Makes a table of a stream of upserts: keeps the latest value by key, hands on old and new.
 *
 * <p>A null key is ignored; a null value deletes, and is handed on even if nothing was there.
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
    store.seen(change.ts);
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
