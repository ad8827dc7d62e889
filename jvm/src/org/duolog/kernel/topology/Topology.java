package org.duolog.kernel.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.node.Graph;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.RouteOperator;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.store.Changelog;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.task.Store;
import org.duolog.kernel.task.Timestamps;

/**
 * Builds the kernel's objects from its spec: an {@link Ingress} for each source, a {@link Level}
 * for each depth.
 *
 * <p>Threads: the driver's, one at a time.
 */
public final class Topology {
  private static final StructType RAW =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("value", DataTypes.BinaryType)
          .add("partition", DataTypes.IntegerType, false)
          .add("offset", DataTypes.LongType, false)
          .add("ts", DataTypes.LongType, false)
          .add("topic", DataTypes.StringType, false)
          .add("headers", DataTypes.BinaryType, true);

  private final Spec spec;
  private final SparkSession spark;
  private final Binding binding;
  private final Grouping grouping;
  private final ErrorHandlers handlers;
  private final LongAccumulator corruptRecords;

  public Topology(Spec spec, SparkSession spark) {
    this.spec = spec;
    this.spark = spark;
    PythonFunction.define(spec);
    this.binding = new Binding(spec, new Binder(spark, PythonFunction.versions(spec)));
    this.handlers = new ErrorHandlers(spec);
    int subtopologies =
        1 + spec.edges().stream().mapToInt(Spec.Edge::subtopology).max().orElse(-1);
    this.grouping = new Grouping(subtopologies, spec.tasks(), spec.shufflePartitions());
    this.corruptRecords =
        spark.sparkContext().longAccumulator("duolog corrupt records " + spec.applicationId());
  }

  /**
   * Returns how the sources' records can reach the first level without a shuffle. Returns null if a
   * source changes keys, chooses tasks or sends to all of them, or if the spec asks for a shuffle.
   */
  public PartitionRouting direct() {
    if (!spec.direct() || spec.levels().isEmpty()) {
      return null;
    }
    Set<Integer> first = Set.copyOf(spec.levels().get(0));
    Map<Integer, Integer> ranks = new HashMap<>();
    for (Spec.Edge edge : spec.edges()) {
      if (first.contains(edge.subtopology())) {
        ranks.put(edge.id(), edge.queue());
      }
    }
    Set<Integer> reached = new HashSet<>();
    for (Spec.Source source : spec.sources()) {
      for (int child : source.children()) {
        if (!leadsStraight(child, ranks.keySet(), reached)) {
          return null;
        }
      }
    }
    long topics = spec.sources().stream().map(Spec.Source::topic).distinct().count();
    return new PartitionRouting(grouping, first, ranks, topics == spec.sources().size());
  }

  private boolean leadsStraight(int id, Set<Integer> edges, Set<Integer> reached) {
    Operator node = spec.node(id);
    if (!reached.add(id)) {
      return true;
    }
    if (node instanceof RouteOperator route && edges.contains(route.edge())) {
      boolean keepsKey = route.keys() == null && !binding.edge(route.edge()).rekeyed();
      return keepsKey && !route.everywhere() && route.partition() == null;
    }
    return node.children().stream().allMatch(child -> leadsStraight(child, edges, reached));
  }

  public LongAccumulator corruptRecords() {
    return corruptRecords;
  }

  /** Returns a reader for each topic, in the order of the first source that reads it. */
  public List<TopicReader> topics() {
    Map<String, List<Ingress>> byTopic = new LinkedHashMap<>();
    for (Spec.Source source : spec.sources()) {
      byTopic.computeIfAbsent(source.topic(), unused -> new ArrayList<>()).add(ingress(source));
    }
    List<TopicReader> topics = new ArrayList<>();
    byTopic.forEach(
        (topic, ingresses) ->
            topics.add(
                new TopicReader(
                    spec.applicationId(), Metrics.runOf(spec), topic, spec.realTime(), ingresses)));
    return topics;
  }

  /** Returns the readers of each Spark source, in the order of their first topics. */
  public List<List<TopicReader>> inputs() {
    Map<String, String> inputs = new LinkedHashMap<>();
    spec.sources().forEach(source -> inputs.putIfAbsent(source.topic(), source.input()));
    Map<String, List<TopicReader>> found = new LinkedHashMap<>();
    for (TopicReader reader : topics()) {
      String input = inputs.get(reader.topic());
      found.computeIfAbsent(input, unused -> new ArrayList<>()).add(reader);
    }
    return List.copyOf(found.values());
  }

  public Binding binding() {
    return binding;
  }

  public SparkSession spark() {
    return spark;
  }

  public List<Level> levels() {
    return spec.levels().stream().map(this::level).toList();
  }

  private Ingress ingress(Spec.Source source) {
    String owner = "source " + source.topic();
    Program parse = binding.bind(owner, RAW, source.parse().columns());
    StructType layout = RAW;
    for (int i = 0; i < parse.types().length; i++) {
      layout = layout.add("p" + i, parse.types()[i], true);
    }
    List<String> checks =
        List.of(
            "CAST((" + Binding.orElse(source.corrupt(), "NULL") + ") AS STRING)",
            Binding.orElse(source.keyNull(), "key IS NULL"),
            Binding.orElse(source.valueNull(), "value IS NULL"));
    Ingress.Reading reading =
        new Ingress.Reading(
            parse,
            binding.bind(owner, layout, checks),
            binding.typed(owner, layout, source.keys(), source.keyTypes()),
            binding.typed(owner, layout, source.values(), source.valueTypes()),
            timestamps(owner, layout, source));
    Graph graph = new Graph(binding, grouping, source.children());
    if (graph.hasStores()) {
      throw new IllegalArgumentException(owner + ": a node with a store is before the first cut");
    }
    List<Node> children = source.children().stream().map(graph::node).toList();
    return new Ingress(
        spec.sources().indexOf(source),
        source.topic(),
        spec.sources().stream().map(Spec.Source::topic).distinct().toList().indexOf(source.topic()),
        source.table(),
        reading,
        graph.parentsFirst(),
        children,
        grouping,
        handlers,
        spec.realTime(),
        corruptRecords);
  }

  private Timestamps timestamps(String owner, StructType layout, Spec.Source source) {
    Program computed =
        source.timestamp() == null
            ? null
            : binding.typed(owner, layout, List.of(source.timestamp()), List.of("BIGINT"));
    return new Timestamps(
        spec.applicationId(), source.id(), computed, source.invalidTimestamp(), handlers);
  }

  private Level level(List<Integer> ids) {
    Map<Integer, SubTopology> subtopologies = new TreeMap<>();
    for (int id : ids) {
      subtopologies.put(id, subtopology(id));
    }
    return new Level(
        spec.applicationId(),
        Metrics.runOf(spec),
        spec.launch(),
        subtopologies,
        grouping,
        handlers,
        spec.realTime(),
        spec.cacheBytesMax(),
        Changelog.of(spec));
  }

  public Grouping grouping() {
    return grouping;
  }

  /** Returns the names of the stores of each sub-topology, by level. */
  public List<Map<Integer, List<String>>> stores() {
    return spec.levels().stream()
        .map(
            ids -> {
              Map<Integer, List<String>> stores = new TreeMap<>();
              ids.forEach(
                  id ->
                      stores.put(
                          id, Stream.of(subtopology(id).stores()).map(Store::name).toList()));
              return stores;
            })
        .toList();
  }

  private SubTopology subtopology(int id) {
    List<Spec.Edge> edges =
        spec.edges().stream().filter(edge -> edge.subtopology() == id).toList();
    Graph graph = new Graph(binding, grouping, edges.stream().map(Spec.Edge::node).toList());
    Map<Integer, SubTopology.Input> inputs = new TreeMap<>();
    for (Spec.Edge edge : edges) {
      inputs.put(
          edge.id(),
          new SubTopology.Input(
              edge.queue(),
              edge.keyTypes().size(),
              edge.valueTypes().size(),
              feedsOfTables(false).contains(edge.id()),
              feedsOfTables(true).contains(edge.id()),
              graph.node(edge.node())));
    }
    return new SubTopology(inputs, graph.parentsFirst(), spec.stores());
  }

  /**
   * Returns the edges that carry records of tables' topics to their stores; only those of global
   * tables if {@code global} is true.
   */
  private Set<Integer> feedsOfTables(boolean global) {
    Set<Integer> edges = new HashSet<>();
    for (Spec.Source source : spec.sources()) {
      for (int child : source.table() ? source.children() : List.<Integer>of()) {
        if (spec.node(child) instanceof RouteOperator route && (route.everywhere() || !global)) {
          edges.add(route.edge());
        }
      }
    }
    return edges;
  }
}
