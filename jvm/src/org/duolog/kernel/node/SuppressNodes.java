package org.duolog.kernel.node;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.SuppressedChange;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Suppressed;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.ValueGetter;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.Node;

/** Builds the nodes that suppress changes, and the getters that read through them. */
record SuppressNodes(
    Binding binding,
    Grouping grouping,
    FoldNodes folds,
    Map<String, KeyValueStore> stores,
    Map<String, WindowRows> windows) {
  void addStores(OperatorCases<KeyValueStore> all) {
    all.add(
        Operator.Suppress.class,
        (owner, of) -> {
          WindowRows rows = rows(owner, of);
          windows.put(of.store(), rows);
          return new KeyValueStore(of.store(), SuppressedChange.COLUMNS, true, rows);
        });
  }

  void addNodes(OperatorCases<Node> all) {
    all.add(Operator.Suppress.class, this::suppress);
  }

  /**
   * Returns the rows that wait: by the end of their window, or by a time that is appended to their
   * key.
   */
  private WindowRows rows(String owner, Operator.Suppress of) {
    Closing closing = new Suppressed(of.delayMs(), of.bucketMs());
    WindowRows.Order order =
        new WindowRows.Order(
            binding.bind(
                owner,
                of.untilClose() ? Binder.withTs(Binding.key(of)) : timedKey(of),
                List.of(of.keyBytes())),
            false,
            false);
    return of.untilClose()
        ? new WindowRows(of.store(), of.keyTypes().size(), grouping, closing, null, order)
        : new WindowRows(
            of.store(),
            Closing.keyTypes(of).size(),
            grouping,
            closing,
            binding.typed(owner, timedKey(of), names(of), of.keyTypes()),
            order);
  }

  /** Returns a key, and the time since when it waits. */
  private static StructType timedKey(Operator of) {
    return Binder.withTs(Binder.with(new StructType(), "k", Closing.keyTypes(of)));
  }

  private static List<String> names(Operator of) {
    return List.of(Binding.key(of).fieldNames());
  }

  private Node suppress(String owner, Operator.Suppress of) {
    return new SuppressNode(
        stores.get(of.store()),
        windows.get(of.store()),
        timed(owner, of),
        new SuppressNode.Limits(of.maxRecords(), of.maxBytes(), of.shutDown()),
        of.valueTypes().size());
  }

  ValueGetter getter(String owner, ValueGetter table, Operator.Suppress of) {
    return SuppressNode.getter(
        table, stores.get(of.store()), timed(owner, of), of.valueTypes().size());
  }

  private SuppressNode.Timed timed(String owner, Operator.Suppress of) {
    return of.untilClose()
        ? null
        : new SuppressNode.Timed(
            windows.get(of.store()), folds.windowedKey(owner, of), of.keyTypes().size());
  }
}
