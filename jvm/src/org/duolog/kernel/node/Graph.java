package org.duolog.kernel.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.python.ProcessorStores;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.SuppressedChange;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.JoinOperators;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.ProcessorOperators;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.RouteOperator;
import org.duolog.kernel.store.BucketStore;
import org.duolog.kernel.store.ExpiringRows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.PagedRows;
import org.duolog.kernel.store.StateRows;
import org.duolog.kernel.store.VersionRows;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.Store;

/**
 * The nodes that are reachable from some roots, with their stores.
 *
 * <p>This class determines the nodes and stores; {@link StatelessNodes}, {@link JoinNodes}, {@link StreamJoinNodes},
 * {@link ForeignNodes}, {@link FoldNodes} and {@link SuppressNodes} build them.
 */
public final class Graph {
  private final Map<Integer, Node> nodes = new HashMap<>();
  private final Map<String, KeyValueStore> stores = new HashMap<>();
  private final Map<String, WindowRows> windows = new HashMap<>();
  private final Map<String, VersionRows> versions = new HashMap<>();
  private final Map<String, BucketStore> ofProcessors = new HashMap<>();
  private final Deque<Node> order = new ArrayDeque<>();
  private final Binding binding;
  private final Grouping grouping;
  private final StatelessNodes stateless;
  private final JoinNodes joins;
  private final ForeignNodes foreign;
  private final FoldNodes folds;
  private final SuppressNodes suppressed;
  private final StreamJoinNodes streamJoins;

  public Graph(Binding binding, Grouping grouping, List<Integer> roots) {
    this.binding = binding;
    this.grouping = grouping;
    this.stateless = new StatelessNodes(binding);
    this.folds = new FoldNodes(binding, stores, windows);
    this.suppressed = new SuppressNodes(binding, folds, stores, windows);
    this.joins = new JoinNodes(binding, stores, versions, suppressed);
    this.foreign = new ForeignNodes(binding, grouping, joins, stores);
    this.streamJoins = new StreamJoinNodes(binding, grouping);
    Set<Integer> reached = new HashSet<>();
    roots.forEach(root -> declareStores(root, reached));
    roots.forEach(this::build);
  }

  public Node node(int id) {
    return nodes.get(id);
  }

  public boolean hasStores() {
    return !stores.isEmpty() || !ofProcessors.isEmpty() || streamJoins.hasStores();
  }

  public List<Node> parentsFirst() {
    return new ArrayList<>(order);
  }

  /** A lookup may be reached before the table that writes its store. */
  private void declareStores(int id, Set<Integer> reached) {
    if (!reached.add(id)) {
      return;
    }
    Operator operator = binding.spec().node(id);
    if (operator instanceof Operator.Table table) {
      declare(table.store(), table.valueTypes().size(), true, rowsOf(table));
    } else if (operator instanceof Operator.Fold fold) {
      StateRows rows =
          fold.paged() ? new PagedRows() : rows(fold, fold.store(), fold.ttlMs());
      declare(fold.store(), fold.accTypes().size(), fold.toldAtOnce(), rows);
    } else if (operator instanceof Operator.WindowFold fold) {
      WindowRows.Order order = folds.order(Binding.owner(id, fold), fold, fold.onClose());
      int keys = Closing.keyTypes(fold).size();
      WindowRows rows =
          new WindowRows(fold.store(), keys, grouping, fold.closing(), null, order);
      windows.put(fold.store(), rows);
      declare(fold.store(), fold.accTypes().size(), fold.toldAtOnce(), rows);
    } else if (operator instanceof Operator.SessionFold fold) {
      WindowRows.Order order = folds.order(Binding.owner(id, fold), fold, fold.onClose());
      WindowRows rows =
          indexed(id, fold, fold.store(), fold.closing(), List.of(), order);
      declare(fold.store(), fold.accTypes().size(), fold.toldAtOnce(), rows);
    } else if (operator instanceof Operator.SlidingFold fold) {
      WindowRows.Order order = folds.order(Binding.owner(id, fold), fold, fold.onClose());
      String span = FoldNodes.span(fold.windows(), "k" + fold.keyTypes().size());
      WindowRows rows =
          indexed(id, fold, fold.store(), fold.closing(), List.of(span), order);
      declare(fold.store(), fold.accTypes().size(), fold.toldAtOnce(), rows);
    } else if (operator instanceof JoinOperators.StreamJoin join) {
      streamJoins.declare(join);
    } else {
      foreign.declareStore(operator);
    }
    if (operator instanceof Operator.Suppress suppress) {
      WindowRows rows = suppressed.rows(Binding.owner(id, suppress), suppress, grouping);
      windows.put(suppress.store(), rows);
      declare(suppress.store(), SuppressedChange.COLUMNS, true, rows);
    }
    operator.children().forEach(child -> declareStores(child, reached));
  }

  /** Returns rows that are kept, or that expire if they are not updated for a time. */
  private StateRows rows(Operator of, String store, Long ttlMs) {
    return ttlMs == null
        ? StateRows.inOneMap()
        : new ExpiringRows(store, of.keyTypes().size(), grouping, ttlMs);
  }

  /** Returns rows of windows with an index by the columns before the window and further BIGINT columns. */
  private WindowRows indexed(
      int id,
      Operator fold,
      String store,
      Closing closing,
      List<String> more,
      WindowRows.Order order) {
    List<String> keys = Closing.keyTypes(fold);
    StructType layout = Binder.withTs(Binder.with(new StructType(), "k", keys));
    List<String> found =
        new ArrayList<>(List.of(layout.fieldNames()).subList(0, fold.keyTypes().size()));
    List<String> types = new ArrayList<>(fold.keyTypes());
    for (String column : more) {
      found.add(column);
      types.add("BIGINT");
    }
    Program index = binding.typed(Binding.owner(id, fold), layout, found, types);
    WindowRows rows = new WindowRows(store, keys.size(), grouping, closing, index, order);
    windows.put(store, rows);
    return rows;
  }

  private void declare(String store, int columns, boolean toldAtOnce, StateRows rows) {
    if (stores.put(store, new KeyValueStore(store, columns, toldAtOnce, rows)) != null) {
      throw new IllegalArgumentException("two nodes write the store " + store);
    }
  }

  private StateRows rowsOf(Operator.Table table) {
    if (table.historyMs() == null) {
      return rows(table, table.store(), table.ttlMs());
    }
    int columns = table.valueTypes().size();
    VersionRows rows =
        new VersionRows(
            table.store(), columns, grouping, table.historyMs(), table.bucketMs());
    versions.put(table.store(), rows);
    return rows;
  }

  private Node build(int id) {
    Node built = nodes.get(id);
    if (built == null) {
      Operator operator = binding.spec().node(id);
      List<Node> children = operator.children().stream().map(this::build).toList();
      built = node(id, operator);
      built.setName(operator.name() == null ? operator.kind() + " " + id : operator.name());
      built.setChildren(children);
      nodes.put(id, built);
      order.push(built);
    }
    return built;
  }

  private Node node(int id, Operator of) {
    String owner = Binding.owner(id, of);
    if (of instanceof Operator.Table table) {
      KeyValueStore store = stores.get(table.store());
      VersionRows rows = versions.get(table.store());
      return rows == null ? new TableNode(store) : new VersionedTableNode(store, rows);
    }
    if (of instanceof Operator.Filter filter) {
      return stateless.filter(owner, filter);
    }
    if (of instanceof Operator.Project project) {
      return stateless.project(owner, project);
    }
    if (of instanceof Operator.SelectKey rekey) {
      return stateless.selectKey(owner, rekey);
    }
    if (of instanceof Operator.Python python) {
      return stateless.python(owner, python);
    }
    if (of instanceof Operator.Explode explode) {
      return stateless.explode(owner, explode);
    }
    if (of instanceof Operator.Split split) {
      return stateless.split(owner, split);
    }
    if (of instanceof Operator.Headers headers) {
      return stateless.headers(owner, headers);
    }
    if (of instanceof Operator.Time time) {
      return stateless.time(owner, time);
    }
    if (of instanceof Operator.Print print) {
      return stateless.print(owner, print);
    }
    if (of instanceof RouteOperator route) {
      return stateless.route(owner, route);
    }
    if (of instanceof Operator.Sink sink) {
      return stateless.sink(owner, sink);
    }
    if (of instanceof JoinOperators.Wait wait) {
      return joins.wait(owner, wait, grouping);
    }
    if (of instanceof JoinOperators.Lookup lookup) {
      return joins.lookup(owner, lookup);
    }
    if (of instanceof JoinOperators.Join join) {
      return joins.join(owner, join);
    }
    if (of instanceof JoinOperators.StreamJoin join) {
      return streamJoins.side(owner, join);
    }
    if (of instanceof Operator.Fold fold) {
      return folds.fold(owner, fold);
    }
    if (of instanceof Operator.Suppress suppress) {
      return suppressed.suppress(owner, suppress);
    }
    if (of instanceof Operator.WindowFold fold) {
      return folds.windowFold(owner, fold);
    }
    if (of instanceof Operator.SessionFold fold) {
      return folds.sessionFold(owner, fold);
    }
    if (of instanceof Operator.SlidingFold fold) {
      return folds.slidingFold(owner, fold);
    }
    if (of instanceof Operator.Idle idle) {
      AggregatingNode fold = (AggregatingNode) build(idle.fold());
      windows.get(idle.store()).closeIdle(binding.spec().applicationId(), idle.idleMs());
      return new IdleNode(fold);
    }
    if (of instanceof ProcessorOperators.Process process) {
      return processor(owner, process);
    }
    if (of instanceof ProcessorOperators.ProcessOutput output) {
      return stateless.processOutput(owner, output);
    }
    if (of instanceof ProcessorOperators.Punctuate punctuate) {
      return new PunctuateNode((ProcessNode) build(punctuate.process()));
    }
    if (of instanceof Operator.ToStream) {
      return new ToStreamNode();
    }
    return foreign.node(owner, of);
  }

  /** A processor registers its own store, and those that no other node has registered. */
  private Node processor(String owner, ProcessorOperators.Process of) {
    BucketStore own = new BucketStore(of.store(), 1, ProcessorStores.COLUMNS, grouping);
    List<Store> filled = new ArrayList<>(List.of(own));
    ofProcessors.put(of.store(), own);
    Map<String, BucketStore> seen = new HashMap<>();
    for (String name : of.stores()) {
      BucketStore store = ofProcessors.get(name);
      if (store == null) {
        store = new BucketStore(name, 1, ProcessorStores.COLUMNS, grouping);
        ofProcessors.put(name, store);
        filled.add(store);
      }
      seen.put(name, store);
    }
    String applicationId = binding.spec().applicationId();
    return new ProcessNode(
        PythonFunction.of(applicationId, of.function()),
        applicationId,
        binding.bind(owner, Binding.input(of), List.of(of.record())),
        own,
        seen,
        filled,
        of.waits(),
        of.keyTypes().size(),
        of.valueTypes().size());
  }
}
