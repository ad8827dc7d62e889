package org.duolog.kernel.node;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.JoinOperators;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.ValueGetter;
import org.duolog.kernel.store.VersionRows;
import org.duolog.kernel.store.TimeOrderedRecords;
import org.duolog.kernel.task.JoinedRow;
import org.duolog.kernel.task.Node;

/** Builds the nodes that look up rows in stores of tables. */
record JoinNodes(
    Binding binding,
    Map<String, KeyValueStore> stores,
    Map<String, VersionRows> versions,
    SuppressNodes suppressed,
    Grouping grouping) {
  void addNodes(OperatorCases<Node> all) {
    all.add(JoinOperators.Lookup.class, this::lookup)
        .add(JoinOperators.Wait.class, this::wait)
        .add(JoinOperators.Join.class, this::join);
  }

  private Node lookup(String owner, JoinOperators.Lookup of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "r", of.rightTypes()));
    Program keys =
        of.keys() == null
            ? null
            : binding.typed(owner, Binding.input(of), of.keys(), of.tableKeyTypes());
    return new LookupNode(
        getter(owner, of.store(), of.getter(), of.rightTypes()),
        keys,
        of.left(),
        binding.computed(owner, layout, of.values(), of),
        of.keyTypes().size(),
        of.valueTypes().size(),
        of.rightTypes().size());
  }

  private Node wait(String owner, JoinOperators.Wait of) {
    int keys = of.keyTypes().size();
    int values = of.valueTypes().size();
    return new WaitNode(
        new TimeOrderedRecords(of.store(), keys, values, grouping, of.bucketMs()),
        of.graceMs(),
        binding.bind(owner, Binder.withTs(Binding.key(of)), List.of(of.keyBytes())),
        keys);
  }

  private Node join(String owner, JoinOperators.Join of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "r", of.rightTypes()));
    Program values = binding.computed(owner, layout, of.values(), of);
    return new JoinNode(otherSide(owner, of), joined(of, values));
  }

  private ValueGetter otherSide(String owner, JoinOperators.Join of) {
    return getter(owner, of.store(), of.getter(), of.rightTypes());
  }

  private static JoinedRow joined(JoinOperators.Join of, Program values) {
    return new JoinedRow(
        of.needsOwn(),
        of.needsOther(),
        values,
        of.keyTypes().size(),
        of.valueTypes().size(),
        of.rightTypes().size());
  }

  /**
   * Returns a getter of a table's rows: reads the store, then applies the steps that compute the
   * row.
   */
  ValueGetter getter(
      String owner, String storeName, List<Operator> steps, List<String> rightTypes) {
    KeyValueStore store = stores.get(storeName);
    if (store == null) {
      throw new IllegalArgumentException(
          owner + ": no table of its sub-topology writes the store " + storeName);
    }
    VersionRows rows = versions.get(storeName);
    ValueGetter getter = rows == null ? ValueGetter.of(store) : ValueGetter.of(store, rows);
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
    if (of instanceof Operator.Filter filter) {
      Program predicate = binding.bind(owner, Binding.input(of), List.of(filter.predicate()));
      return ValueGetter.filtered(parent, predicate, keys, values);
    }
    if (of instanceof Operator.Project project) {
      Program computed = binding.typed(owner, Binding.input(of), project.values(), types);
      return ValueGetter.projected(parent, computed, keys, values);
    }
    if (of instanceof JoinOperators.Join join) {
      StructType both = Binder.withTs(Binder.with(Binding.record(of), "r", join.rightTypes()));
      Program computed = binding.typed(owner, both, join.values(), types);
      return ValueGetter.joined(parent, otherSide(owner, join), joined(join, computed));
    }
    if (of instanceof Operator.Suppress suppress) {
      return suppressed.getter(owner, parent, suppress);
    }
    throw new IllegalArgumentException(owner + ": cannot look up rows through " + of.kind());
  }
}
