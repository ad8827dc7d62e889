package org.duolog.kernel.node;

import java.util.HashMap;
import java.util.Map;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.store.ExpiringRows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.StateRows;
import org.duolog.kernel.store.VersionRows;
import org.duolog.kernel.task.Node;

/** Builds the nodes that turn upserts into tables. */
final class TableNodes {
  private final Grouping grouping;
  private final Map<String, KeyValueStore> stores;

  /** The rows of versioned tables, by their stores. */
  final Map<String, VersionRows> versions = new HashMap<>();

  TableNodes(Grouping grouping, Map<String, KeyValueStore> stores) {
    this.grouping = grouping;
    this.stores = stores;
  }

  void addStores(OperatorCases<KeyValueStore> all) {
    all.add(
        Operator.Table.class,
        (owner, of) -> new KeyValueStore(of.store(), of.valueTypes().size(), true, rows(of)));
  }

  void addNodes(OperatorCases<Node> all) {
    all.add(Operator.Table.class, (owner, of) -> table(of));
  }

  private StateRows rows(Operator.Table of) {
    if (of.historyMs() == null) {
      return rows(grouping, of, of.ttlMs());
    }
    int columns = of.valueTypes().size();
    VersionRows rows =
        new VersionRows(of.store(), columns, grouping, of.historyMs(), of.bucketMs());
    versions.put(of.store(), rows);
    return rows;
  }

  /** Returns rows that are kept, or that expire if they are not updated for a time. */
  static StateRows rows(Grouping grouping, Operator.TableStore of, Long ttlMs) {
    return ttlMs == null
        ? StateRows.inOneMap()
        : new ExpiringRows(of.store(), of.keyTypes().size(), grouping, ttlMs);
  }

  private Node table(Operator.Table of) {
    KeyValueStore store = stores.get(of.store());
    VersionRows rows = versions.get(of.store());
    return rows == null ? new TableNode(store) : new VersionedTableNode(store, rows);
  }
}
