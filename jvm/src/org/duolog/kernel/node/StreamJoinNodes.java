package org.duolog.kernel.node;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.JoinOperators;
import org.duolog.kernel.store.StreamJoinRows;
import org.duolog.kernel.store.UnmatchedJoinRows;
import org.duolog.kernel.task.Node;

/** Builds the sides of stream-stream joins, and the stores that they share. */
final class StreamJoinNodes {
  private final Binding binding;
  private final Grouping grouping;
  private final Map<String, StreamJoinRows> rows = new HashMap<>();
  private final Map<String, UnmatchedJoinRows> unmatched = new HashMap<>();

  StreamJoinNodes(Binding binding, Grouping grouping) {
    this.binding = binding;
    this.grouping = grouping;
  }

  boolean hasStores() {
    return !rows.isEmpty();
  }

  void addNodes(OperatorCases<Node> all) {
    all.add(JoinOperators.StreamJoin.class, this::side);
  }

  /** Creates the stores of a side: the other side may be built before it. */
  void declareStores(JoinOperators.StreamJoin of) {
    int columns = of.valueTypes().size();
    long windowMs = of.beforeMs() + of.afterMs();
    if (of.fills()) {
      StreamJoinRows kept =
          new StreamJoinRows(of.store(), columns, windowMs, of.keptMs(), grouping);
      ensureNew(rows.put(of.store(), kept), of.store());
    }
    if (of.unmatched() != null) {
      int keys = of.keyTypes().size();
      UnmatchedJoinRows waiting =
          new UnmatchedJoinRows(of.unmatched(), keys, columns, windowMs, grouping);
      ensureNew(unmatched.put(of.unmatched(), waiting), of.unmatched());
    }
  }

  private Node side(String owner, JoinOperators.StreamJoin of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "r", of.rightTypes()));
    StreamJoinNode.Stores stores =
        new StreamJoinNode.Stores(
            of.fills() ? rows.get(of.store()) : null,
            known(owner, rows, of.otherStore()),
            of.unmatched() == null ? null : unmatched.get(of.unmatched()),
            of.otherUnmatched() == null ? null : known(owner, unmatched, of.otherUnmatched()));
    return new StreamJoinNode(
        of,
        stores,
        binding.computed(owner, layout, of.values(), of),
        binding.bind(owner, Binder.withTs(Binding.key(of)), List.of(of.keyBytes())));
  }

  private static <T> T known(String owner, Map<String, T> stores, String name) {
    T store = stores.get(name);
    if (store == null) {
      throw new IllegalArgumentException(
          owner + ": no side of its sub-topology writes the store " + name);
    }
    return store;
  }

  private static void ensureNew(Object before, String store) {
    if (before != null) {
      throw new IllegalArgumentException("two nodes write the store " + store);
    }
  }
}
