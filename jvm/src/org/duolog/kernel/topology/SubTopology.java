package org.duolog.kernel.topology;

import java.io.Serializable;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.node.IdleNode;
import org.duolog.kernel.node.ProcessNode;
import org.duolog.kernel.node.PunctuateNode;
import org.duolog.kernel.python.ProcessorTask;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/**
 * The nodes between two cuts, their stores, and the edges that lead to them.
 *
 * <p>A record that ends before an edge (filtered, or an unchanged row) delays no record after the
 * edge. If timestamps decrease within a micro-batch, the following record can be processed earlier
 * than in Kafka Streams' test driver, which processes all topics in one thread. A tick is ordered
 * after all records of its micro-batch by its timestamp, which is not stream time. Record caches
 * are flushed in the order of the plan: if two feed one table join, this order is visible in
 * timestamps and retractions. Tasks can share a Spark partition in real time, so counters are
 * switched together with the stores.
 *
 * <p>Threads: one at a time between open and close.
 */
final class SubTopology implements Serializable {
  private static final long serialVersionUID = 1L;

  /** By edge; null for edges of other sub-topologies. */
  private final Input[] inputs;

  private final Node[] nodes;
  private final Store[] stores;
  private final ProcessNode[] processors;
  private transient NodeContext.Task counted;
  private transient ProcessorTask ofTask;
  private transient boolean moved;

  /**
   * Parents precede their children in {@code nodes}, and so do the stores that they write.
   *
   * @param flushed names of stores, in the order in which they forward buffered updates; others
   *     follow
   */
  SubTopology(Map<Integer, Input> inputs, List<Node> nodes, List<String> flushed) {
    int edges = inputs.keySet().stream().mapToInt(edge -> edge + 1).max().orElse(0);
    this.inputs = new Input[edges];
    inputs.forEach((edge, input) -> this.inputs[edge] = input);
    this.nodes = nodes.toArray(Node[]::new);
    this.processors =
        nodes.stream()
            .filter(ProcessNode.class::isInstance)
            .map(ProcessNode.class::cast)
            .toArray(ProcessNode[]::new);
    this.stores =
        nodes.stream()
            .flatMap(node -> node.stores().stream())
            .sorted(Comparator.comparingInt(store -> place(store.name(), flushed)))
            .toArray(Store[]::new);
  }

  private static int place(String store, List<String> flushed) {
    int place = flushed.indexOf(store);
    return place < 0 ? flushed.size() : place;
  }

  Store[] stores() {
    return stores;
  }

  boolean hasProcessors() {
    return processors.length > 0;
  }

  Node[] nodes() {
    return nodes;
  }

  void open(NodeContext scope, int partition) {
    for (Store store : stores) {
      store.open(scope);
    }
    for (Node node : nodes) {
      node.open(scope, partition);
    }
    for (Input input : inputs) {
      if (input != null) {
        input.open(scope);
      }
    }
  }

  /** Selects the task of the following calls, and its processors; null if it has none. */
  void select(NodeContext.Task task, ProcessorTask ofTask) {
    if (counted != task) {
      counted = task;
      task.counted(nodes);
    }
    select(task.grouping);
    this.ofTask = ofTask;
    for (ProcessNode processor : processors) {
      processor.select(ofTask);
    }
  }

  private void select(long grouping) {
    for (Store store : stores) {
      store.select(grouping);
    }
  }

  /** Returns the queue of an edge: edges from one source or sub-topology share a queue. */
  int queue(int edge) {
    return inputs[edge].queue;
  }

  /** Returns true if an edge carries rows of a global table, which precede all other records. */
  boolean goesFirst(int edge) {
    return inputs[edge].goesFirst;
  }

  void process(Envelope record) {
    Input input = inputs[record.edge()];
    if (processors.length > 0 && !input.isTick() && !input.goesFirst) {
      ofTask.observe(record.ts());
      moved = true;
    }
    input.process(record);
  }

  /**
   * Calls the processor that is due first by stream time, after a record is done. Returns false if
   * none is due.
   */
  boolean punctuate() {
    if (!moved) {
      return false;
    }
    ProcessNode first = null;
    for (ProcessNode processor : processors) {
      if (processor.isDue()
          && (first == null || processor.nextStreamTime() < first.nextStreamTime())) {
        first = processor;
      }
    }
    if (first != null) {
      first.punctuate();
      return true;
    }
    moved = false;
    for (ProcessNode processor : processors) {
      processor.settleAtOnce();
    }
    return false;
  }

  /** Returns true if a processor has become due meanwhile. */
  boolean hasDue() {
    for (ProcessNode processor : processors) {
      moved |= processor.isDue();
    }
    return moved;
  }

  /**
   * Ends a task's micro-batch step by step: a store forwards its buffered updates to downstream
   * stores. Each step waits for work that the previous one has deferred.
   *
   * @return true if there are more steps
   */
  boolean finish(int step) {
    if (step < stores.length) {
      stores[step].forwardUpdates();
      return true;
    }
    for (ProcessNode processor : processors) {
      processor.settle();
    }
    for (Store store : stores) {
      store.flush();
    }
    return false;
  }

  void close() {
    for (Node node : nodes) {
      node.close();
    }
  }

  /** The input of an edge: points rows at an envelope's bytes. */
  static final class Input implements Serializable {
    private static final long serialVersionUID = 1L;

    private final int queue;
    private final int keyColumns;
    private final int valueColumns;
    private final boolean feedsTable;
    private final boolean goesFirst;
    private final Node node;
    private transient NodeContext scope;
    private transient UnsafeRow key;
    private transient UnsafeRow value;
    private transient UnsafeRow old;
    private transient Change change;

    /**
     * @param feedsTable true if it carries records of a table's topic
     * @param goesFirst true if that is a global table
     */
    Input(
        int queue,
        int keyColumns,
        int valueColumns,
        boolean feedsTable,
        boolean goesFirst,
        Node node) {
      this.queue = queue;
      this.keyColumns = keyColumns;
      this.valueColumns = valueColumns;
      this.feedsTable = feedsTable;
      this.goesFirst = goesFirst;
      this.node = node;
    }

    /** Returns true if it carries the time by the wall clock. */
    boolean isTick() {
      return node instanceof PunctuateNode || node instanceof IdleNode;
    }

    private void open(NodeContext scope) {
      this.scope = scope;
      key = new UnsafeRow(keyColumns);
      value = new UnsafeRow(valueColumns);
      old = new UnsafeRow(valueColumns);
      change = new Change();
    }

    private void process(Envelope record) {
      scope.origin = record.origin();
      scope.run(
          node,
          change.set(
              record.keyAt(key),
              record.valueAt(value),
              record.oldAt(old),
              record.ts(),
              record.oldTs(),
              record.headers()));
      if (feedsTable && scope.gate != null) {
        scope.gate.arrived();
      }
    }
  }
}
