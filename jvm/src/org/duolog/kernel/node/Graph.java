package org.duolog.kernel.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.JoinOperators;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.Node;

/**
 * The nodes that are reachable from some roots, with their stores.
 *
 * <p>This class walks the spec. A class for each family of operators ({@link TableNodes},
 * {@link FoldNodes}, …) builds the nodes and stores.
 */
public final class Graph {
  private final Map<Integer, Node> nodes = new HashMap<>();
  private final Map<String, KeyValueStore> stores = new HashMap<>();
  private final Deque<Node> order = new ArrayDeque<>();
  private final OperatorCases<KeyValueStore> storeBuilders = new OperatorCases<>();
  private final OperatorCases<Node> builders = new OperatorCases<>();
  private final Binding binding;
  private final ForeignNodes foreign;
  private final ProcessorNodes processors;
  private final StreamJoinNodes streamJoins;

  public Graph(Binding binding, Grouping grouping, List<Integer> roots) {
    this.binding = binding;
    Map<String, WindowRows> windows = new HashMap<>();
    TableNodes tables = new TableNodes(grouping, stores);
    FoldNodes folds = new FoldNodes(binding, grouping, this::build, stores, windows);
    SuppressNodes suppressed = new SuppressNodes(binding, grouping, folds, stores, windows);
    JoinNodes joins = new JoinNodes(binding, stores, tables.versions, suppressed, grouping);
    foreign = new ForeignNodes(binding, grouping, joins, stores);
    processors = new ProcessorNodes(binding, grouping, this::build);
    streamJoins = new StreamJoinNodes(binding, grouping);
    tables.addStores(storeBuilders);
    folds.addStores(storeBuilders);
    suppressed.addStores(storeBuilders);
    new StatelessNodes(binding).addNodes(builders);
    tables.addNodes(builders);
    folds.addNodes(builders);
    suppressed.addNodes(builders);
    joins.addNodes(builders);
    foreign.addNodes(builders);
    processors.addNodes(builders);
    streamJoins.addNodes(builders);
    Set<Integer> reached = new HashSet<>();
    roots.forEach(root -> declareStores(root, reached));
    roots.forEach(this::build);
  }

  public Node node(int id) {
    return nodes.get(id);
  }

  public boolean hasStores() {
    return !stores.isEmpty() || processors.hasStores() || streamJoins.hasStores();
  }

  public List<Node> parentsFirst() {
    return new ArrayList<>(order);
  }

  boolean builds(Operator operator) {
    return builders.has(operator);
  }

  /**
   * Creates stores before nodes: a look-up may be reached before the table that writes its store.
   */
  private void declareStores(int id, Set<Integer> reached) {
    if (!reached.add(id)) {
      return;
    }
    Operator operator = binding.spec().node(id);
    KeyValueStore store = storeBuilders.of(Binding.owner(id, operator), operator);
    if (store != null) {
      String name = ((Operator.TableStore) operator).store();
      if (stores.put(name, store) != null) {
        throw new IllegalArgumentException("two nodes write the store " + name);
      }
    } else if (operator instanceof JoinOperators.StreamJoin join) {
      streamJoins.declareStores(join);
    } else {
      foreign.declareStores(operator);
    }
    operator.children().forEach(child -> declareStores(child, reached));
  }

  private Node build(int id) {
    Node built = nodes.get(id);
    if (built == null) {
      Operator operator = binding.spec().node(id);
      List<Node> children = operator.children().stream().map(this::build).toList();
      built = builders.of(Binding.owner(id, operator), operator);
      if (built == null) {
        throw new IllegalStateException("no class builds a node of kind " + operator.kind());
      }
      built.setName(operator.name() == null ? operator.kind() + " " + id : operator.name());
      built.setChildren(children);
      nodes.put(id, built);
      order.push(built);
    }
    return built;
  }
}
