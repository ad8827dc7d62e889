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
import org.duolog.kernel.spec.ProcessorOperators;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.RouteOperator;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.task.Node;

/** Builds the stateless nodes. */
record StatelessNodes(Binding binding) {
  Node filter(String owner, Operator.Filter of) {
    Program predicate = binding.bind(owner, Binding.input(of), List.of(of.predicate()));
    return new FilterNode(
        predicate, of.table(), of.versioned(), of.keyTypes().size(), of.valueTypes().size());
  }

  Node project(String owner, Operator.Project of) {
    Program values = binding.computed(owner, Binding.input(of), of.values(), of);
    return new ProjectNode(values, of.table(), of.keyTypes().size(), of.valueTypes().size());
  }

  Node python(String owner, Operator.Python of) {
    StructType layout = Binder.withTs(Binder.with(Binding.record(of), "r", List.of("BINARY")));
    return new PythonNode(
        PythonFunction.of(binding.spec().applicationId(), of.function()),
        binding.bind(owner, Binding.input(of), List.of(of.arguments())),
        binding.computed(owner, layout, of.values(), of),
        of.nulls(),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  Node processOutput(String owner, ProcessorOperators.ProcessOutput of) {
    return new ProcessOutputNode(
        of.output(),
        binding.typed(owner, Binding.input(of), of.keys(), of.keyColumns()),
        binding.typed(owner, Binding.input(of), of.values(), of.valueColumns()));
  }

  Node selectKey(String owner, Operator.SelectKey of) {
    List<String> types = binding.child(owner, of).keyTypes();
    Program keys = binding.typed(owner, Binding.input(of), of.keys(), types);
    return new SelectKeyNode(keys, of.keepsNulls(), of.keyTypes().size(), of.valueTypes().size());
  }

  Node explode(String owner, Operator.Explode of) {
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

  Node split(String owner, Operator.Split of) {
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

  Node headers(String owner, Operator.Headers of) {
    List<String> types = Collections.nCopies(of.values().size(), "BINARY");
    return new HeadersNode(
        of.clears(),
        of.removed(),
        of.written(),
        binding.typed(owner, Binding.input(of), of.values(), types),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  Node time(String owner, Operator.Time of) {
    Program time =
        binding.typed(owner, Binding.input(of), List.of(of.time()), List.of("BIGINT"));
    return new TimeNode(time, of.keyTypes().size(), of.valueTypes().size());
  }

  Node print(String owner, Operator.Print of) {
    return new PrintNode(
        binding.spec().applicationId(),
        of.label(),
        of.limit() == null ? Long.MAX_VALUE : of.limit(),
        binding.bind(owner, Binding.input(of), List.of(of.keyText())),
        binding.bind(owner, Binding.input(of), List.of(of.valueText())),
        of.keyTypes().size(),
        of.valueTypes().size());
  }

  Node sink(String owner, Operator.Sink of) {
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

  Node route(String owner, RouteOperator of) {
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
