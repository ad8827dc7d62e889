package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.VersionRows;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.Store;

/**
 * Turns a stream of upserts into a versioned table: earlier versions stay available for look-ups by
 * time.
 *
 * <p>Versions older than the history are dropped, and counted as late. A version between others is
 * forwarded as a change that is not the latest: it passes filters and projections, and is written
 * to topics, but aggregates and table-table joins ignore it. The old value is that of the latest
 * version in any case. Source: Kafka Streams KTableSource, KIP-914.
 */
final class VersionedTableNode extends Node {
  private static final long serialVersionUID = 1L;

  private final KeyValueStore store;
  private final VersionRows versions;

  VersionedTableNode(KeyValueStore store, VersionRows versions) {
    this.store = store;
    this.versions = versions;
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
    if (versions.isExpired(change.ts)) {
      scope.late(this);
      return;
    }
    KeyValueStore.Entry entry = store.lookup(change.key);
    UnsafeRow old = entry.row;
    long oldTs = entry.ts;
    boolean latest = versions.add(entry, change.value, change.ts);
    if (latest && change.value == null) {
      store.delete(entry);
    } else if (latest) {
      store.put(entry, change.value.copy(), change.ts);
    }
    out.set(change.key, change.value, old, change.ts, oldTs, change.headers);
    out.latest = latest;
    forward(out);
  }
}
