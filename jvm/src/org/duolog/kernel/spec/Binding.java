package org.duolog.kernel.spec;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Binds the expressions of a spec's operators, cast to the types that their readers expect. */
public record Binding(Spec spec, Binder binder) {
  /** Returns the columns of an operator's key. */
  public static StructType key(Operator of) {
    return Binder.with(new StructType(), "k", of.keyTypes());
  }

  /** Returns the columns of an operator's input, without the timestamp. */
  public static StructType record(Operator of) {
    return Binder.with(key(of), "v", of.valueTypes());
  }

  /** Returns the columns of an operator's input. */
  public static StructType input(Operator of) {
    return Binder.withTs(record(of));
  }

  /** Returns the name of an operator in error messages. */
  public static String owner(int id, Operator of) {
    return of.kind() + " " + (of.name() == null ? id : of.name());
  }

  public Program bind(String owner, StructType layout, List<String> expressions) {
    return binder.bind(owner, layout, expressions);
  }

  /** Binds expressions as columns of the given types. */
  public Program typed(
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

  /**
   * Binds the value columns that a node computes, in the types that its children read. A node may
   * have no children: a table that is only looked up computes its rows to find those that fail.
   */
  public Program computed(
      String owner, StructType layout, List<String> expressions, Operator of) {
    return of.children().isEmpty()
        ? binder.bind(owner, layout, expressions)
        : typed(owner, layout, expressions, child(owner, of).valueTypes());
  }

  public Operator child(String owner, Operator of) {
    if (of.children().isEmpty()) {
      throw new IllegalArgumentException(owner + ": nothing reads what it computes");
    }
    return spec.node(of.children().get(0));
  }

  public Spec.Edge edge(int id) {
    return spec.edges().stream()
        .filter(edge -> edge.id() == id)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("the spec has no edge " + id));
  }

  public static String orElse(String text, String otherwise) {
    return text == null ? otherwise : text;
  }
}
