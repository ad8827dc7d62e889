package org.duolog.kernel.spec;

import java.util.List;

/** The operators of a foreign-key join, in the order in which a row passes them. */
public final class ForeignOperators {
  private ForeignOperators() {}

  /** Numbers the changes of the left table, and computes its foreign key. */
  public record Number(NodeSpec node, String store, List<String> values) implements Operator {
    public Number {
      values = Spec.orEmpty(values);
    }
  }

  /**
   * Announces the number of the latest row of a key; the last columns of its input are the foreign
   * key and the number.
   */
  public record Announce(NodeSpec node, boolean left, int foreignColumns) implements Operator {}

  /** Sends subscriptions of numbered rows under their foreign key. */
  public record Subscribe(NodeSpec node, boolean left, List<String> keys, List<String> values)
      implements Operator {
    public Subscribe {
      keys = Spec.orEmpty(keys);
      values = Spec.orEmpty(values);
    }
  }

  /** Stores subscriptions, and answers them with rows of the right table. */
  public record Subscriptions(
      NodeSpec node,
      String store,
      String tableStore,
      List<Operator> getter,
      List<String> rightTypes,
      int primaryColumns,
      List<String> values)
      implements Operator {
    public Subscriptions {
      getter = Spec.orEmpty(getter);
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Sends changes of the right table to all subscriptions of the row. */
  public record ForeignTable(
      NodeSpec node,
      String subscriptions,
      List<String> primaryTypes,
      List<String> leftTypes,
      List<String> values)
      implements Operator {
    public ForeignTable {
      primaryTypes = Spec.orEmpty(primaryTypes);
      leftTypes = Spec.orEmpty(leftTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Stores the number of the latest row of each key. */
  public record Newest(NodeSpec node, String store) implements Operator {}

  /** Turns the responses that are not stale into upserts. */
  public record ForeignJoin(
      NodeSpec node, String newest, String results, boolean left, List<String> values)
      implements Operator {
    public ForeignJoin {
      values = Spec.orEmpty(values);
    }
  }
}
