package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.duolog.kernel.python.ProcessorStores;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.ProcessorOperators;
import org.duolog.kernel.store.BucketStore;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.Store;

/** Builds the nodes of processors, and their stores, which several of them may share. */
final class ProcessorNodes {
  private final Binding binding;
  private final Grouping grouping;
  private final IntFunction<Node> nodes;
  private final Map<String, BucketStore> stores = new HashMap<>();

  /** @param nodes builds another node of the graph, unless that has been built */
  ProcessorNodes(Binding binding, Grouping grouping, IntFunction<Node> nodes) {
    this.binding = binding;
    this.grouping = grouping;
    this.nodes = nodes;
  }

  boolean hasStores() {
    return !stores.isEmpty();
  }

  void addNodes(OperatorCases<Node> all) {
    all.add(ProcessorOperators.Process.class, this::processor)
        .add(ProcessorOperators.ProcessOutput.class, this::output)
        .add(
            ProcessorOperators.Punctuate.class,
            (owner, of) -> new PunctuateNode((ProcessNode) nodes.apply(of.process())));
  }

  /** A processor registers its own store, and those that no other node has registered. */
  private Node processor(String owner, ProcessorOperators.Process of) {
    BucketStore own = new BucketStore(of.store(), 1, ProcessorStores.COLUMNS, grouping);
    List<Store> filled = new ArrayList<>(List.of(own));
    stores.put(of.store(), own);
    Map<String, BucketStore> seen = new HashMap<>();
    for (String name : of.stores()) {
      BucketStore store = stores.get(name);
      if (store == null) {
        store = new BucketStore(name, 1, ProcessorStores.COLUMNS, grouping);
        stores.put(name, store);
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

  private Node output(String owner, ProcessorOperators.ProcessOutput of) {
    return new ProcessOutputNode(
        of.output(),
        binding.typed(owner, Binding.input(of), of.keys(), of.keyColumns()),
        binding.typed(owner, Binding.input(of), of.values(), of.valueColumns()));
  }
}
