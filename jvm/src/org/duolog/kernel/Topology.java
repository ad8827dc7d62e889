package org.duolog.kernel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;

/**
 * Builds the kernel's objects from its spec: an {@link Ingress} for each source, a {@link Level} for
 * each depth.
 *
 * <p>Threads: the driver's, one at a time.
 */
final class Topology {
  private static final StructType RAW =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("value", DataTypes.BinaryType)
          .add("partition", DataTypes.IntegerType, false)
          .add("offset", DataTypes.LongType, false)
          .add("ts", DataTypes.LongType, false);

  private final Spec spec;
  private final Binder binder;
  private final Grouping grouping;
  private final ErrorHandlers handlers;
  private final LongAccumulator corruptRecords;

  Topology(Spec spec, SparkSession spark) {
    this.spec = spec;
    this.binder = new Binder(spark);
    this.handlers = new ErrorHandlers(spec);
    int subtopologies =
        1 + spec.edges().stream().mapToInt(Spec.Edge::subtopology).max().orElse(-1);
    this.grouping = new Grouping(subtopologies, spec.tasks(), spec.shufflePartitions());
    this.corruptRecords =
        spark.sparkContext().longAccumulator("duolog corrupt records " + spec.applicationId());
  }

  LongAccumulator corruptRecords() {
    return corruptRecords;
  }

  /** One for each topic, in the order of the first source that reads it. */
  List<TopicReader> topics() {
    Map<String, List<Ingress>> byTopic = new LinkedHashMap<>();
    for (Spec.Source source : spec.sources()) {
      byTopic.computeIfAbsent(source.topic(), unused -> new ArrayList<>()).add(ingress(source));
    }
    List<TopicReader> topics = new ArrayList<>();
    byTopic.forEach(
        (topic, ingresses) ->
            topics.add(
                new TopicReader(spec.applicationId(), topic, spec.realTime(), ingresses)));
    return topics;
  }

  List<Level> levels() {
    return spec.levels().stream().map(this::level).toList();
  }

  private Ingress ingress(Spec.Source source) {
    String owner = "source " + source.topic();
    Program parse = binder.bind(owner, RAW, source.parse().columns());
    StructType layout = RAW;
    for (int i = 0; i < parse.types().length; i++) {
      layout = layout.add("p" + i, parse.types()[i], true);
    }
    List<String> checks =
        List.of(
            "CAST((" + orElse(source.corrupt(), "NULL") + ") AS STRING)",
            orElse(source.keyNull(), "key IS NULL"),
            orElse(source.valueNull(), "value IS NULL"));
    Ingress.Reading reading =
        new Ingress.Reading(
            parse,
            binder.bind(owner, layout, checks),
            typed(owner, layout, source.keys(), source.keyTypes()),
            typed(owner, layout, source.values(), source.valueTypes()));
    Graph graph = new Graph(source.children());
    if (!graph.stores.isEmpty()) {
      throw new IllegalArgumentException(owner + ": a node with a store stands before the first cut");
    }
    List<Node> children = source.children().stream().map(graph.nodes::get).toList();
    return new Ingress(
        spec.sources().indexOf(source),
        source.topic(),
        source.table(),
        reading,
        graph.parentsFirst(),
        children,
        grouping,
        handlers,
        spec.realTime(),
        corruptRecords);
  }

  private Level level(List<Integer> ids) {
    Map<Integer, SubTopology> subtopologies = new TreeMap<>();
    for (int id : ids) {
      subtopologies.put(id, subtopology(id));
    }
    return new Level(
        spec.applicationId(),
        subtopologies,
        grouping,
        handlers,
        spec.realTime(),
        spec.cacheBytesMax());
  }

  private SubTopology subtopology(int id) {
    List<Spec.Edge> edges =
        spec.edges().stream().filter(edge -> edge.subtopology() == id).toList();
    Graph graph = new Graph(edges.stream().map(Spec.Edge::node).toList());
    Map<Integer, SubTopology.Input> inputs = new TreeMap<>();
    for (Spec.Edge edge : edges) {
      inputs.put(
          edge.id(),
          new SubTopology.Input(
              edge.queue(),
              edge.keyTypes().size(),
              edge.valueTypes().size(),
              feedsOfTables().contains(edge.id()),
              graph.nodes.get(edge.node())));
    }
    return new SubTopology(inputs, graph.parentsFirst(), spec.stores());
  }

  /** The edges that bring the records of tables' topics to their stores. */
  private Set<Integer> feedsOfTables() {
    Set<Integer> edges = new HashSet<>();
    for (Spec.Source source : spec.sources()) {
      for (int child : source.table() ? source.children() : List.<Integer>of()) {
        if (spec.node(child) instanceof Operator.Route route) {
          edges.add(route.edge());
        }
      }
    }
    return edges;
  }

  private Spec.Edge edge(int id) {
    return spec.edges().stream()
        .filter(edge -> edge.id() == id)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the spec has no edge " + id));
  }

  /** Binds expressions as columns of the given types. */
  private Program typed(
      String owner, StructType layout, List<String> expressions, List<String> types) {
    if (expressions.size() != types.size()) {
      throw new IllegalArgumentException(
          owner + ": " + expressions.size() + " expressions for " + types.size() + " columns");
    }
    List<String> casts = new ArrayList<>();
    for (int i = 0; i < types.size(); i++) {
      casts.add("CAST((" + expressions.get(i) + ") AS " + types.get(i) + ")");
    }
    return binder.bind(owner, layout, casts);
  }

  private static String orElse(String text, String otherwise) {
    return text == null ? otherwise : text;
  }

  /** The nodes that can be reached from some roots, with their stores. */
  private final class Graph {
    final Map<Integer, Node> nodes = new HashMap<>();
    final Map<String, KeyValueStore> stores = new HashMap<>();
    private final Map<String, WindowRows> windows = new HashMap<>();
    private final Deque<Node> order = new ArrayDeque<>();

    Graph(List<Integer> roots) {
      Set<Integer> reached = new HashSet<>();
      roots.forEach(root -> declareStores(root, reached));
      roots.forEach(this::build);
    }

    List<Node> parentsFirst() {
      return new ArrayList<>(order);
    }

    /** A lookup may be reached before the table that fills its store. */
    private void declareStores(int id, Set<Integer> reached) {
      if (!reached.add(id)) {
        return;
      }
      Operator operator = spec.node(id);
      if (operator instanceof Operator.Table table) {
        declare(table.store(), table.valueTypes().size(), true, StateRows.inOneMap());
      } else if (operator instanceof Operator.Fold fold) {
        declare(
            fold.store(), fold.accTypes().size(), fold.toldAtOnce(), StateRows.inOneMap());
      } else if (operator instanceof Operator.WindowFold fold) {
        int keys = Closing.keyTypes(fold).size();
        WindowRows rows = new WindowRows(fold.store(), keys, grouping, fold.windows());
        windows.put(fold.store(), rows);
        declare(fold.store(), fold.accTypes().size(), fold.toldAtOnce(), rows);
      } else if (operator instanceof Operator.SessionFold fold) {
        List<String> keys = Closing.keyTypes(fold);
        StructType layout = Binder.withTs(Binder.with(new StructType(), "k", keys));
        List<String> inner = List.of(layout.fieldNames()).subList(0, fold.keyTypes().size());
        Program innerKey = typed(fold.kind() + " " + fold.name(), layout, inner, fold.keyTypes());
        WindowRows rows =
            new WindowRows(fold.store(), keys.size(), grouping, fold.sessions(), innerKey);
        windows.put(fold.store(), rows);
        declare(fold.store(), fold.accTypes().size(), fold.toldAtOnce(), rows);
      }
      operator.children().forEach(child -> declareStores(child, reached));
    }

    private void declare(String store, int columns, boolean toldAtOnce, StateRows rows) {
      if (stores.put(store, new KeyValueStore(store, columns, toldAtOnce, rows)) != null) {
        throw new IllegalArgumentException("two nodes fill the store " + store);
      }
    }

    private Node build(int id) {
      Node built = nodes.get(id);
      if (built == null) {
        Operator operator = spec.node(id);
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
      String owner = of.kind() + " " + (of.name() == null ? id : of.name());
      int keys = of.keyTypes().size();
      int values = of.valueTypes().size();
      StructType key = Binder.with(new StructType(), "k", of.keyTypes());
      StructType record = Binder.with(key, "v", of.valueTypes());
      StructType input = Binder.withTs(record);
      if (of instanceof Operator.Filter filter) {
        Program predicate = binder.bind(owner, input, List.of(filter.predicate()));
        return new FilterNode(predicate, of.table(), keys, values);
      }
      if (of instanceof Operator.Project project) {
        return new ProjectNode(
            computed(owner, input, project.values(), of), of.table(), keys, values);
      }
      if (of instanceof Operator.SelectKey rekey) {
        Program computed = typed(owner, input, rekey.keys(), child(owner, of).keyTypes());
        return new SelectKeyNode(computed, keys, values);
      }
      if (of instanceof Operator.Explode explode) {
        return explode(owner, explode, record);
      }
      if (of instanceof Operator.Split split) {
        return split(owner, split, input);
      }
      if (of instanceof Operator.Table table) {
        return new TableNode(stores.get(table.store()));
      }
      if (of instanceof Operator.Lookup lookup) {
        return lookup(owner, lookup, record);
      }
      if (of instanceof Operator.Join join) {
        return join(owner, join, record);
      }
      if (of instanceof Operator.Fold fold) {
        return fold(owner, fold, record);
      }
      if (of instanceof Operator.WindowFold fold) {
        return windowFold(owner, fold, record);
      }
      if (of instanceof Operator.SessionFold fold) {
        return sessionFold(owner, fold, record);
      }
      if (of instanceof Operator.Print print) {
        return print(owner, print, input);
      }
      if (of instanceof Operator.Route route) {
        return route(owner, route, input);
      }
      if (of instanceof Operator.Sink sink) {
        return sink(owner, sink, input);
      }
      return new ToStreamNode();
    }

    private Node explode(String owner, Operator.Explode of, StructType record) {
      List<String> arrays = new ArrayList<>(of.arrays());
      List<String> types = new ArrayList<>(of.arrayTypes());
      arrays.add("0");
      types.add("INT");
      StructType layout = Binder.with(record, "x", of.arrayTypes());
      layout = Binder.withTs(layout.add("at", DataTypes.IntegerType, true));
      return new ExplodeNode(
          typed(owner, Binder.withTs(record), arrays, types),
          computed(owner, layout, of.values(), of),
          of.outer(),
          of.keyTypes().size(),
          of.valueTypes().size(),
          of.arrays().size());
    }

    private Node split(String owner, Operator.Split of, StructType input) {
      if (of.branches().size() != of.children().size()) {
        throw new IllegalArgumentException(owner + ": each child needs its branch");
      }
      return new SplitNode(
          of.predicates().stream()
              .map(predicate -> binder.bind(owner, input, List.of(predicate)))
              .toArray(Program[]::new),
          of.branches().stream().mapToInt(Integer::intValue).toArray(),
          of.keyTypes().size(),
          of.valueTypes().size());
    }

    private Node print(String owner, Operator.Print of, StructType input) {
      return new PrintNode(
          spec.applicationId(),
          of.label(),
          of.limit() == null ? Long.MAX_VALUE : of.limit(),
          binder.bind(owner, input, List.of(of.keyText())),
          binder.bind(owner, input, List.of(of.valueText())),
          of.keyTypes().size(),
          of.valueTypes().size());
    }

    private Node sink(String owner, Operator.Sink of, StructType input) {
      return new SinkNode(
          of.sink(),
          binder.bind(owner, input, List.of(of.keyBytes())),
          binder.bind(owner, input, List.of(of.valueBytes())),
          target(owner, input, of),
          of.keyTypes().size(),
          of.valueTypes().size());
    }

    /** What chooses a record's own topic and partition; null where nothing does. */
    private Program target(String owner, StructType input, Operator.Sink of) {
      if (of.topic() == null && of.partition() == null) {
        return null;
      }
      List<String> target = List.of(orElse(of.topic(), "NULL"), orElse(of.partition(), "NULL"));
      return typed(owner, input, target, List.of("STRING", "INT"));
    }

    /**
     * The value columns that a node computes, in the types that its children read. It may have none:
     * of a table that is only looked up, records are computed to know which ones fail.
     */
    private Program computed(
        String owner, StructType layout, List<String> expressions, Operator of) {
      return of.children().isEmpty()
          ? binder.bind(owner, layout, expressions)
          : typed(owner, layout, expressions, child(owner, of).valueTypes());
    }

    private Operator child(String owner, Operator of) {
      if (of.children().isEmpty()) {
        throw new IllegalArgumentException(owner + ": nothing reads what it computes");
      }
      return spec.node(of.children().get(0));
    }

    private Node lookup(String owner, Operator.Lookup of, StructType record) {
      StructType layout = Binder.withTs(Binder.with(record, "r", of.rightTypes()));
      return new LookupNode(
          getter(owner, of.store(), of.getter(), of.rightTypes()),
          of.left(),
          computed(owner, layout, of.values(), of),
          of.keyTypes().size(),
          of.valueTypes().size(),
          of.rightTypes().size());
    }

    private Node join(String owner, Operator.Join of, StructType record) {
      StructType layout = Binder.withTs(Binder.with(record, "r", of.rightTypes()));
      Program values = computed(owner, layout, of.values(), of);
      return new JoinNode(otherSide(owner, of), joined(of, values));
    }

    private ValueGetter otherSide(String owner, Operator.Join of) {
      return getter(owner, of.store(), of.getter(), of.rightTypes());
    }

    private static JoinedRow joined(Operator.Join of, Program values) {
      return new JoinedRow(
          of.needsOwn(),
          of.needsOther(),
          values,
          of.keyTypes().size(),
          of.valueTypes().size(),
          of.rightTypes().size());
    }

    /** A table's row: as the store has it, then through the steps that compute it. */
    private ValueGetter getter(
        String owner, String storeName, List<Operator> steps, List<String> rightTypes) {
      KeyValueStore store = stores.get(storeName);
      if (store == null) {
        throw new IllegalArgumentException(
            owner + ": no table of its sub-topology fills the store " + storeName);
      }
      ValueGetter getter = ValueGetter.of(store);
      for (int i = 0; i < steps.size(); i++) {
        boolean last = i == steps.size() - 1;
        List<String> types = last ? rightTypes : steps.get(i + 1).valueTypes();
        getter = step(owner, getter, steps.get(i), types);
      }
      return getter;
    }

    private ValueGetter step(
        String owner, ValueGetter parent, Operator of, List<String> types) {
      int keys = of.keyTypes().size();
      int values = of.valueTypes().size();
      StructType key = Binder.with(new StructType(), "k", of.keyTypes());
      StructType row = Binder.with(key, "v", of.valueTypes());
      StructType input = Binder.withTs(row);
      if (of instanceof Operator.Filter filter) {
        Program predicate = binder.bind(owner, input, List.of(filter.predicate()));
        return ValueGetter.filtered(parent, predicate, keys, values);
      }
      if (of instanceof Operator.Project project) {
        Program computed = typed(owner, input, project.values(), types);
        return ValueGetter.projected(parent, computed, keys, values);
      }
      if (of instanceof Operator.Join join) {
        StructType both = Binder.withTs(Binder.with(row, "r", join.rightTypes()));
        Program computed = typed(owner, both, join.values(), types);
        return ValueGetter.joined(parent, otherSide(owner, join), joined(join, computed));
      }
      throw new IllegalArgumentException(owner + ": cannot look through " + of.kind());
    }

    private Node fold(String owner, Operator.Fold of, StructType record) {
      if (of.table() && of.subtract() == null) {
        throw new IllegalArgumentException(owner + ": a table needs subtract expressions");
      }
      StructType layout = Binder.withTs(Binder.with(record, "a", of.accTypes()));
      int keys = of.keyTypes().size();
      return new FoldNode(
          stores.get(of.store()),
          new AggregatingNode.Layout(keys, of.valueTypes().size(), keys, of.accTypes().size()),
          new AggregatingNode.Steps(
              typed(owner, layout, of.init(), of.accTypes()),
              typed(owner, layout, of.add(), of.accTypes()),
              computed(owner, layout, of.results(), of)),
          of.table(),
          of.subtract() == null ? null : typed(owner, layout, of.subtract(), of.accTypes()));
    }

    private Node windowFold(String owner, Operator.WindowFold of, StructType record) {
      StructType layout = Binder.withTs(Binder.with(record, "a", of.accTypes()));
      return new WindowFoldNode(
          stores.get(of.store()),
          AggregatingNode.Layout.windowed(of, of.accTypes()),
          new AggregatingNode.Steps(
              typed(owner, layout, of.init(), of.accTypes()),
              typed(owner, layout, of.add(), of.accTypes()),
              computed(owner, windowed(of, of.accTypes()), of.results(), of)),
          windows.get(of.store()),
          of.windows(),
          windowedKey(owner, of));
    }

    private Node sessionFold(String owner, Operator.SessionFold of, StructType record) {
      StructType layout = Binder.withTs(Binder.with(record, "a", of.accTypes()));
      StructType key = Binder.with(new StructType(), "k", of.keyTypes());
      StructType two = Binder.with(Binder.with(key, "a", of.accTypes()), "r", of.accTypes());
      return new SessionFoldNode(
          stores.get(of.store()),
          AggregatingNode.Layout.windowed(of, of.accTypes()),
          new AggregatingNode.Steps(
              typed(owner, layout, of.init(), of.accTypes()),
              typed(owner, layout, of.add(), of.accTypes()),
              computed(owner, windowed(of, of.accTypes()), of.results(), of)),
          windows.get(of.store()),
          of.sessions(),
          windowedKey(owner, of),
          typed(owner, Binder.withTs(two), of.merge(), of.accTypes()));
    }

    /** What the results of a window are computed from. */
    private static StructType windowed(Operator of, List<String> accTypes) {
      StructType key = Binder.with(new StructType(), "k", Closing.keyTypes(of));
      return Binder.withTs(Binder.with(Binder.with(key, "v", of.valueTypes()), "a", accTypes));
    }

    /** Computes a key with its window. */
    private Program windowedKey(String owner, Operator of) {
      StructType key = Binder.with(new StructType(), "k", of.keyTypes());
      List<String> columns = new ArrayList<>(List.of(key.fieldNames()));
      columns.addAll(List.of("w0", "w1"));
      StructType bounded = Binder.withTs(Binder.with(key, "w", Closing.BOUNDS));
      return typed(owner, bounded, columns, Closing.keyTypes(of));
    }

    private Node route(String owner, Operator.Route of, StructType input) {
      Spec.Edge edge = edge(of.edge());
      StructType newKey =
          Binder.withTs(Binder.with(new StructType(), "k", edge.keyTypes()));
      Program keys =
          of.keys() == null ? null : typed(owner, input, of.keys(), edge.keyTypes());
      return new RouteNode(
          edge.id(),
          edge.subtopology(),
          edge.rekeyed(),
          of.table(),
          keys,
          binder.bind(owner, newKey, List.of(of.keyBytes())),
          of.keyTypes().size(),
          of.valueTypes().size(),
          edge.keyTypes().size());
    }
  }
}
