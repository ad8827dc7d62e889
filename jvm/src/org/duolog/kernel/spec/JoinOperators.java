package org.duolog.kernel.spec;

import java.io.Serializable;
import java.util.List;

/** The operators that bring records together with rows of a table, or with records of another stream. */
public final class JoinOperators {
  private JoinOperators() {}

  /** Lets records of a stream wait until stream time is beyond them by the grace period. */
  public record Wait(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      String keyBytes,
      long graceMs,
      long bucketMs)
      implements Operator {
    public Wait {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /**
   * Joins a stream with the rows of a table: those of a store, through the steps of its
   * getter. They are looked up by keys, or where there are none by the record's own key.
   */
  public record Lookup(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      List<Operator> getter,
      boolean left,
      List<String> rightTypes,
      List<String> values,
      List<String> keys,
      List<String> tableKeyTypes)
      implements Operator {
    public Lookup {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      getter = Spec.orEmpty(getter);
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Joins the changes of a table with the rows of another, found as a lookup finds them. */
  public record Join(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      List<Operator> getter,
      boolean needsOwn,
      boolean needsOther,
      List<String> rightTypes,
      List<String> values)
      implements Operator {
    public Join {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      getter = Spec.orEmpty(getter);
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Joins the records of one stream with those of another; the window is as its own see it. */
  public record StreamJoin(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
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
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }
}
