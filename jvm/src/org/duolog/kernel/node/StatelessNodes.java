package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.RouteOperator;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.task.Node;

/** Builds the stateless nodes. */
record StatelessNodes(Binding binding) {
  void addNodes(OperatorCases<Node> all) {
    all.add(Operator.Filter.class, this::filter)
        .add(Operator.Project.class, this::project)
        .add(Operator.Python.class, this::python)
        .add(Operator.SelectKey.class, this::selectKey)
        .add(Operator.Explode.class, this::explode)
        .add(Operator.Split.class, this::split)
        .add(Operator.Headers.class, this::headers)
        .add(Operator.Time.class, this::time)
        .add(Operator.Print.class, this::print)
        .add(Operator.ToStream.class, (owner, of) -> new ToStreamNode())
        .add(Operator.Sink.class, this::sink)
        .add(RouteOperator.class, this::route);
  }

  private Node filter(String owner, Operator.Filter of) {
    Program predicate = binding.bind(owner, Binding.input(of), List.of(of.predicate()));
    return new FilterNode(
        predicate, of.table(), of.versioned(), of.keyTypes().size(), of.valueTypes().size());
  }

  private Node project(String owner, Operator.Project of) {
    Program values = binding.computed(owner, Binding.input(of), of.values(), of);
    return new ProjectNode(values, of.table(), of.keyTypes().size(), of.valueTypes().size());
  }

  private Node python(String owner, Operator.Python of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "r", List.of("BINARY")));
    return new PythonNode(
        PythonFunction.of(binding.spec().applicationId(), of.function()),
        binding.bind(owner, Binding.input(of), List.of(of.arguments())),
        binding.computed(owner, layout, of.values(), of),
        of.nulls(),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  private Node selectKey(String owner, Operator.SelectKey of) {
    List<String> types = binding.child(owner, of).keyTypes();
    Program keys = binding.typed(owner, Binding.input(of), of.keys(), types);
    return new SelectKeyNode(keys, of.keepsNulls(), of.keyTypes().size(), of.valueTypes().size());
  }

  private Node explode(String owner, Operator.Explode of) {
    List<String> arrays = new ArrayList<>(of.arrays());
    List<String> types = new ArrayList<>(of.arrayTypes());
    arrays.add("0");
    types.add("INT");
    StructType layout = Binder.with(Binding.record(of), "x", of.arrayTypes());
    layout = Binder.withTs(layout.add("at", DataTypes.IntegerType, true));
    return new ExplodeNode(
        binding.typed(owner, Binding.input(of), arrays, types),
        binding.computed(owner, layout, of.values(), of),
        of.outer(),
        of.keyTypes().size(),
        of.valueTypes().size(),
        of.arrays().size());
  }

  private Node split(String owner, Operator.Split of) {
    if (of.branches().size() != of.children().size()) {
      throw new IllegalArgumentException(owner + ": each child needs its branch");
    }
    return new SplitNode(
        of.predicates().stream()
            .map(predicate -> binding.bind(owner, Binding.input(of), List.of(predicate)))
            .toArray(Program[]::new),
        of.branches().stream().mapToInt(Integer::intValue).toArray(),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  private Node headers(String owner, Operator.Headers of) {
    List<String> types = Collections.nCopies(of.values().size(), "BINARY");
    return new HeadersNode(
        of.clears(),
        of.removed(),
        of.written(),
        binding.typed(owner, Binding.input(of), of.values(), types),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  private Node time(String owner, Operator.Time of) {
    Program time =
        binding.typed(owner, Binding.input(of), List.of(of.time()), List.of("BIGINT"));
    return new TimeNode(time, of.keyTypes().size(), of.valueTypes().size());
  }

  private Node print(String owner, Operator.Print of) {
    return new PrintNode(
        binding.spec().applicationId(),
        of.label(),
        of.limit() == null ? Long.MAX_VALUE : of.limit(),
        binding.bind(owner, Binding.input(of), List.of(of.keyText())),
        binding.bind(owner, Binding.input(of), List.of(of.valueText())),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  private Node sink(String owner, Operator.Sink of) {
    return new SinkNode(
        of.sink(),
        binding.bind(owner, Binding.input(of), List.of(of.keyBytes())),
        binding.bind(owner, Binding.input(of), List.of(of.valueBytes())),
        target(owner, of),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  /** Returns the expressions that choose a record's topic and partition; null if there are none. */
  private Program target(String owner, Operator.Sink of) {
    if (of.topic() == null && of.partition() == null) {
      return null;
    }
    List<String> target =
        List.of(Binding.orElse(of.topic(), "NULL"), Binding.orElse(of.partition(), "NULL"));
    return binding.typed(owner, Binding.input(of), target, List.of("STRING", "BIGINT"));
  }

  private Node route(String owner, RouteOperator of) {
    Spec.Edge edge = binding.edge(of.edge());
    if (of.everywhere()) {
      return new EverywhereNode(edge.id(), edge.subtopology());
    }
    StructType newKey =
        Binder.withTs(Binder.with(new StructType(), "k", edge.keyTypes()));
    Program keys =
        of.keys() == null
            ? null
            : binding.typed(owner, Binding.input(of), of.keys(), edge.keyTypes());
    Program partition =
        of.partition() == null
            ? null
            : binding.typed(owner, Binding.input(of), List.of(of.partition()), List.of("BIGINT"));
    return new RouteNode(
        edge.id(),
        edge.subtopology(),
        edge.rekeyed(),
        of.table(),
        keys,
        binding.bind(owner, newKey, List.of(of.keyBytes())),
        partition,
        of.partitions() == null ? Long.MAX_VALUE : of.partitions(),
        of.keyTypes().size(),
        of.valueTypes().size(),
        edge.keyTypes().size());
  }
}
