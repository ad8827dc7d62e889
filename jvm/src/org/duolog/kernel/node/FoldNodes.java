package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.SlidingWindows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.PagedRows;
import org.duolog.kernel.store.StateRows;
import org.duolog.kernel.store.window.DueRows;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.Node;

/** Builds the nodes that aggregate, and their stores. */
final class FoldNodes {
  private final Binding binding;
  private final Grouping grouping;
  private final IntFunction<Node> nodes;
  private final Map<String, KeyValueStore> stores;
  private final Map<String, WindowRows> windows;

  /** @param nodes builds another node of the graph, unless that has been built */
  FoldNodes(
      Binding binding,
      Grouping grouping,
      IntFunction<Node> nodes,
      Map<String, KeyValueStore> stores,
      Map<String, WindowRows> windows) {
    this.binding = binding;
    this.grouping = grouping;
    this.nodes = nodes;
    this.stores = stores;
    this.windows = windows;
  }

  void addStores(OperatorCases<KeyValueStore> all) {
    all.add(
            Operator.Fold.class,
            (owner, of) -> store(of, of.accTypes(), of.toldAtOnce(), rows(of)))
        .add(Operator.WindowFold.class, (owner, of) -> store(of, plainRows(owner, of)))
        .add(
            Operator.SessionFold.class,
            (owner, of) -> store(of, indexedRows(owner, of, List.of())))
        .add(
            Operator.SlidingFold.class,
            (owner, of) -> {
              String span = span(of.windows(), "k" + of.keyTypes().size());
              return store(of, indexedRows(owner, of, List.of(span)));
            });
  }

  void addNodes(OperatorCases<Node> all) {
    all.add(Operator.Fold.class, this::fold)
        .add(Operator.WindowFold.class, this::windowFold)
        .add(Operator.SessionFold.class, this::sessionFold)
        .add(Operator.SlidingFold.class, this::slidingFold)
        .add(Operator.Idle.class, (owner, of) -> idle(of));
  }

  private KeyValueStore store(Operator.WindowedFold of, WindowRows rows) {
    windows.put(of.store(), rows);
    return store(of, of.accTypes(), of.toldAtOnce(), rows);
  }

  private static KeyValueStore store(
      Operator.TableStore of, List<String> accTypes, boolean toldAtOnce, StateRows rows) {
    return new KeyValueStore(of.store(), accTypes.size(), toldAtOnce, rows);
  }

  private StateRows rows(Operator.Fold of) {
    return of.paged() ? new PagedRows() : TableNodes.rows(grouping, of, of.ttlMs());
  }

  private WindowRows plainRows(String owner, Operator.WindowedFold of) {
    int keys = Closing.keyTypes(of).size();
    return new WindowRows(of.store(), keys, grouping, of.closing(), null, order(owner, of));
  }

  /**
   * Returns rows of windows with an index by the columns before the window and further BIGINT
   * columns.
   */
  private WindowRows indexedRows(String owner, Operator.WindowedFold of, List<String> more) {
    List<String> keys = Closing.keyTypes(of);
    StructType layout = Binder.withTs(Binder.with(new StructType(), "k", keys));
    List<String> found =
        new ArrayList<>(List.of(layout.fieldNames()).subList(0, of.keyTypes().size()));
    List<String> types = new ArrayList<>(of.keyTypes());
    for (String column : more) {
      found.add(column);
      types.add("BIGINT");
    }
    WindowRows.Order order = order(owner, of);
    Program index = binding.typed(owner, layout, found, types);
    return new WindowRows(of.store(), keys.size(), grouping, of.closing(), index, order);
  }

  private Node idle(Operator.Idle of) {
    AggregatingNode fold = (AggregatingNode) nodes.apply(of.fold());
    windows.get(of.store()).closeIdle(binding.spec().applicationId(), of.idleMs());
    return new IdleNode(fold);
  }

  private Node fold(String owner, Operator.Fold of) {
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
   * Returns the order in which results are emitted when their windows close; null if they are
   * emitted with each update.
   */
  private WindowRows.Order order(String owner, Operator.WindowedFold of) {
    StructType key = Binder.with(new StructType(), "k", Closing.keyTypes(of));
    return of.onClose() == null
        ? null
        : new WindowRows.Order(
            binding.bind(owner, Binder.withTs(key), List.of(of.onClose())), true, true);
  }

  /** Builds what all aggregates by windows have. */
  private WindowedFoldNode.Parts parts(String owner, Operator.WindowedFold of) {
    List<String> accTypes = of.accTypes();
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "a", accTypes));
    KeyValueStore store = stores.get(of.store());
    WindowRows rows = windows.get(of.store());
    return new WindowedFoldNode.Parts(
        store,
        AggregatingNode.Layout.windowed(of, accTypes),
        new AggregatingNode.Steps(
            binding.typed(owner, layout, of.init(), accTypes),
            binding.typed(owner, layout, of.add(), accTypes),
            binding.computed(owner, windowed(of, accTypes), of.results(), of)),
        of.onClose() == null ? null : new DueRows(store, rows),
        rows,
        windowedKey(owner, of));
  }

  private Node windowFold(String owner, Operator.WindowFold of) {
    return new WindowFoldNode(parts(owner, of), of.windows(), of.lostMs());
  }

  private Node sessionFold(String owner, Operator.SessionFold of) {
    StructType key = Binding.key(of);
    StructType two = Binder.with(Binder.with(key, "a", of.accTypes()), "r", of.accTypes());
    return new SessionFoldNode(
        parts(owner, of),
        of.sessions(),
        binding.typed(owner, Binder.withTs(two), of.merge(), of.accTypes()));
  }

  private Node slidingFold(String owner, Operator.SlidingFold of) {
    List<String> index = new ArrayList<>(List.of(Binding.key(of).fieldNames()));
    index.add(span(of.windows(), "w0"));
    List<String> types = new ArrayList<>(of.keyTypes());
    types.add("BIGINT");
    return new SlidingFoldNode(
        parts(owner, of),
        of.windows(),
        binding.typed(owner, bounded(of), index, types));
  }

  /**
   * Returns an expression for the span that a start belongs to: windows of one span are found
   * together.
   */
  private static String span(SlidingWindows windows, String start) {
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
