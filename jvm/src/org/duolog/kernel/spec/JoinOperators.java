package org.duolog.kernel.spec;

import java.io.Serializable;
import java.util.List;

/** The operators that join records with rows of a table, or with records of another stream. */
public final class JoinOperators {
  private JoinOperators() {}

  /** Delays records of a stream until stream time has passed them by the grace period. */
  public record Wait(NodeSpec node, String store, String keyBytes, long graceMs, long bucketMs)
      implements Operator {}

  /**
   * Joins a stream with the rows of a table, read from a store through the steps of its getter.
   * Rows are looked up by {@code keys}, or by the record's own key if there are none.
   */
  public record Lookup(
      NodeSpec node,
      String store,
      List<Operator> getter,
      boolean left,
      List<String> rightTypes,
      List<String> values,
      List<String> keys,
      List<String> tableKeyTypes)
      implements Operator {
    public Lookup {
      getter = Spec.orEmpty(getter);
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Joins the changes of a table with the rows of another table, found as by a lookup. */
  public record Join(
      NodeSpec node,
      String store,
      List<Operator> getter,
      boolean needsOwn,
      boolean needsOther,
      List<String> rightTypes,
      List<String> values)
      implements Operator {
    public Join {
      getter = Spec.orEmpty(getter);
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }

  /**
   * Joins the records of one stream with those of another; the window is seen from the first
   * stream.
   */
  public record StreamJoin(
      NodeSpec node,
      String store,
      String otherStore,
      boolean fills,
      boolean left,
      boolean tellsUnmatched,
      String unmatched,
      String otherUnmatched,
      long beforeMs,
      long afterMs,
      long graceMs,
      long keptMs,
      boolean again,
      String keyBytes,
      List<String> rightTypes,
      List<String> values)
      implements Operator, Serializable {
    public StreamJoin {
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }
}
