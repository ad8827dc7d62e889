package org.duolog.kernel.spec;

import java.util.List;

/** The operators of a foreign-key join, in the order in which a row passes them. */
public final class ForeignOperators {
  private ForeignOperators() {}

  /** Numbers the changes of the left table, and computes its foreign key. */
  public record Number(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      List<String> values)
      implements Operator {
    public Number {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      values = Spec.orEmpty(values);
    }
  }

  /**
   * Announces the number of the latest row of a key; the last columns of its input are the foreign key and the number.
   */
  public record Announce(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      boolean left,
      int foreignColumns)
      implements Operator {
    public Announce {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Sends subscriptions of numbered rows under their foreign key. */
  public record Subscribe(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      boolean left,
      List<String> keys,
      List<String> values)
      implements Operator {
    public Subscribe {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      keys = Spec.orEmpty(keys);
      values = Spec.orEmpty(values);
    }
  }

  /** Stores subscriptions, and answers them with rows of the right table. */
  public record Subscriptions(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      String tableStore,
      List<Operator> getter,
      List<String> rightTypes,
      int primaryColumns,
      List<String> values)
      implements Operator {
    public Subscriptions {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      getter = Spec.orEmpty(getter);
      rightTypes = Spec.orEmpty(rightTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Sends changes of the right table to all subscriptions of the row. */
  public record ForeignTable(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String subscriptions,
      List<String> primaryTypes,
      List<String> leftTypes,
      List<String> values)
      implements Operator {
    public ForeignTable {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      primaryTypes = Spec.orEmpty(primaryTypes);
      leftTypes = Spec.orEmpty(leftTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Stores the number of the latest row of each key. */
  public record Newest(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store)
      implements Operator {
    public Newest {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Turns the responses that are not stale into upserts. */
  public record ForeignJoin(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String newest,
      String results,
      boolean left,
      List<String> values)
      implements Operator {
    public ForeignJoin {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      values = Spec.orEmpty(values);
    }
  }
}
