package org.duolog.kernel.spec;

import java.util.List;

/** The operators that a foreign-key join is made of, in the order in which a row meets them. */
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

  /** Says which number the newest row of a key has; the last columns of its input are the foreign key and the number. */
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

  /** Keeps subscriptions, and answers them with rows of the right table. */
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

  /** Answers the changes of the right table to all that have subscribed to its row. */
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

  /** Keeps the number of the newest row of each key. */
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

  /** Makes upserts of the answers that are not stale. */
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
