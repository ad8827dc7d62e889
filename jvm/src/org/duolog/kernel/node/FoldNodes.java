package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.SlidingWindows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.window.DueRows;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.Node;

/** Builds the nodes that aggregate. */
record FoldNodes(
    Binding binding, Map<String, KeyValueStore> stores, Map<String, WindowRows> windows) {
  Node fold(String owner, Operator.Fold of) {
    if (of.table() && of.subtract() == null) {
      throw new IllegalArgumentException(owner + ": a table needs subtract expressions");
    }
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "a", of.accTypes()));
    int keys = of.keyTypes().size();
    return new FoldNode(
        stores.get(of.store()),
        new AggregatingNode.Layout(keys, of.valueTypes().size(), keys, of.accTypes().size()),
        new AggregatingNode.Steps(
            binding.typed(owner, layout, of.init(), of.accTypes()),
            binding.typed(owner, layout, of.add(), of.accTypes()),
            binding.computed(owner, layout, of.results(), of)),
        of.table(),
        of.subtract() == null ? null : binding.typed(owner, layout, of.subtract(), of.accTypes()));
  }

  /**
   * Returns the order in which results are emitted when their windows close; null if they are emitted with each update.
   */
  WindowRows.Order order(String owner, Operator of, String keyBytes) {
    StructType key = Binder.with(new StructType(), "k", Closing.keyTypes(of));
    return keyBytes == null
        ? null
        : new WindowRows.Order(
            binding.bind(owner, Binder.withTs(key), List.of(keyBytes)), true, true);
  }

  private DueRows due(String store, String onClose) {
    return onClose == null ? null : new DueRows(stores.get(store), windows.get(store));
  }

  Node windowFold(String owner, Operator.WindowFold of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "a", of.accTypes()));
    return new WindowFoldNode(
        stores.get(of.store()),
        AggregatingNode.Layout.windowed(of, of.accTypes()),
        new AggregatingNode.Steps(
            binding.typed(owner, layout, of.init(), of.accTypes()),
            binding.typed(owner, layout, of.add(), of.accTypes()),
            binding.computed(owner, windowed(of, of.accTypes()), of.results(), of)),
        due(of.store(), of.onClose()),
        windows.get(of.store()),
        of.windows(),
        of.lostMs(),
        windowedKey(owner, of));
  }

  Node sessionFold(String owner, Operator.SessionFold of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "a", of.accTypes()));
    StructType key = Binding.key(of);
    StructType two = Binder.with(Binder.with(key, "a", of.accTypes()), "r", of.accTypes());
    return new SessionFoldNode(
        stores.get(of.store()),
        AggregatingNode.Layout.windowed(of, of.accTypes()),
        new AggregatingNode.Steps(
            binding.typed(owner, layout, of.init(), of.accTypes()),
            binding.typed(owner, layout, of.add(), of.accTypes()),
            binding.computed(owner, windowed(of, of.accTypes()), of.results(), of)),
        due(of.store(), of.onClose()),
        windows.get(of.store()),
        of.sessions(),
        windowedKey(owner, of),
        binding.typed(owner, Binder.withTs(two), of.merge(), of.accTypes()));
  }

  Node slidingFold(String owner, Operator.SlidingFold of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "a", of.accTypes()));
    List<String> index = new ArrayList<>(List.of(Binding.key(of).fieldNames()));
    index.add(span(of.windows(), "w0"));
    List<String> types = new ArrayList<>(of.keyTypes());
    types.add("BIGINT");
    return new SlidingFoldNode(
        stores.get(of.store()),
        AggregatingNode.Layout.windowed(of, of.accTypes()),
        new AggregatingNode.Steps(
            binding.typed(owner, layout, of.init(), of.accTypes()),
            binding.typed(owner, layout, of.add(), of.accTypes()),
            binding.computed(owner, windowed(of, of.accTypes()), of.results(), of)),
        due(of.store(), of.onClose()),
        windows.get(of.store()),
        of.windows(),
        windowedKey(owner, of),
        binding.typed(owner, bounded(of), index, types));
  }

  /** Returns an expression for the span that a start belongs to: windows of one span are found together. */
  static String span(SlidingWindows windows, String start) {
    return start + " DIV " + windows.spanMs();
  }

  /** Returns the columns from which the results of a window are computed. */
  private static StructType windowed(Operator of, List<String> accTypes) {
    StructType key = Binder.with(new StructType(), "k", Closing.keyTypes(of));
    return Binder.withTs(Binder.with(Binder.with(key, "v", of.valueTypes()), "a", accTypes));
  }

  /** Computes a key with its window. */
  Program windowedKey(String owner, Operator of) {
    List<String> columns = new ArrayList<>(List.of(Binding.key(of).fieldNames()));
    columns.addAll(List.of("w0", "w1"));
    return binding.typed(owner, bounded(of), columns, Closing.keyTypes(of));
  }

  /** Returns a key and the bounds of a window. */
  private static StructType bounded(Operator of) {
    return Binder.withTs(Binder.with(Binding.key(of), "w", Closing.BOUNDS));
  }
}
