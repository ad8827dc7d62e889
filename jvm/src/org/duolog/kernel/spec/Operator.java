package org.duolog.kernel.spec;

import java.util.List;

/**
 * One node of a spec, with a class for each kind. An unknown field is an error.
 *
 * <p>{@link NodeSpec} has the fields of every kind. {@code engine/lowering/spec/operators.py} has
 * the same classes.
 */
public interface Operator {
  /** The fields that a node of any kind has. */
  NodeSpec node();

  default String kind() {
    return node().kind();
  }

  /** Its name in messages; null if it has none. */
  default String name() {
    return node().name();
  }

  default List<Integer> children() {
    return node().children();
  }

  default List<String> keyTypes() {
    return node().keyTypes();
  }

  default List<String> valueTypes() {
    return node().valueTypes();
  }

  default boolean table() {
    return node().table();
  }

  /** An operator whose store has the rows of a table, which can be looked up and queried. */
  interface TableStore extends Operator {
    String store();
  }

  /** Aggregates the records of a stream by key and windows of some kind. */
  interface WindowedFold extends TableStore {
    List<String> accTypes();

    List<String> init();

    List<String> add();

    List<String> results();

    /** True if an update is forwarded before the next record is processed. */
    boolean toldAtOnce();

    /**
     * The bytes of a key that order the results of closed windows; null if each update is a result.
     */
    String onClose();

    Closing closing();
  }

  /**
   * Keeps the records for which the predicate holds; forwards each version of a versioned table.
   */
  record Filter(NodeSpec node, String predicate, boolean versioned) implements Operator {}

  /** Computes a new value. */
  record Project(NodeSpec node, List<String> values) implements Operator {
    public Project {
      values = Spec.orEmpty(values);
    }
  }

  /**
   * Calls a Python function with many records of a stream at once, and computes a new value.
   *
   * @param function its name in the spec
   * @param arguments JSON as bytes
   * @param values read the result as r0, JSON as bytes
   * @param nulls true if it is also called for records without a value
   */
  record Python(
      NodeSpec node, String function, String arguments, List<String> values, boolean nulls)
      implements Operator {
    public Python {
      values = Spec.orEmpty(values);
    }
  }

  /**
   * Gives records of a stream a new key. A key of only nulls counts as null, unless nulls are kept.
   */
  record SelectKey(NodeSpec node, List<String> keys, boolean keepsNulls) implements Operator {
    public SelectKey {
      keys = Spec.orEmpty(keys);
    }
  }

  /** Forwards a record for each element of arrays, which all have one length. */
  record Explode(
      NodeSpec node,
      List<String> arrays,
      List<String> arrayTypes,
      boolean outer,
      List<String> values)
      implements Operator {
    public Explode {
      arrays = Spec.orEmpty(arrays);
      arrayTypes = Spec.orEmpty(arrayTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Forwards each record to one child: that of the first predicate that holds. */
  record Split(NodeSpec node, List<String> predicates, List<Integer> branches) implements Operator {
    public Split {
      predicates = Spec.orEmpty(predicates);
      branches = Spec.orEmpty(branches);
    }
  }

  /** Turns the changes of a table into a stream. */
  record ToStream(NodeSpec node) implements Operator {}

  /** Stores rows, and turns upserts into changes; with a history, also earlier versions. */
  record Table(NodeSpec node, String store, Long ttlMs, Long historyMs, Long bucketMs)
      implements TableStore {}

  /** Aggregates by key; without {@code subtract}, only records of a stream. */
  record Fold(
      NodeSpec node,
      String store,
      List<String> accTypes,
      List<String> init,
      List<String> add,
      List<String> subtract,
      List<String> results,
      boolean toldAtOnce,
      boolean paged,
      Long ttlMs)
      implements TableStore {
    public Fold {
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      results = Spec.orEmpty(results);
    }
  }

  /** Removes headers from records and adds others. */
  record Headers(
      NodeSpec node,
      boolean clears,
      List<String> removed,
      List<String> written,
      List<String> values)
      implements Operator {
    public Headers {
      removed = Spec.orEmpty(removed);
      written = Spec.orEmpty(written);
      values = Spec.orEmpty(values);
    }
  }

  /** Gives records of a stream another timestamp. */
  record Time(NodeSpec node, String time) implements Operator {}

  /** Prints the first records; all of them if there is no limit. */
  record Print(NodeSpec node, String label, Long limit, String keyText, String valueText)
      implements Operator {}

  /** Closes windows of an aggregate that have ended, if it has had no record for some time. */
  record Idle(NodeSpec node, int fold, String store, long idleMs) implements Operator {}

  /** Aggregates the records of a stream by key and time window. */
  record WindowFold(
      NodeSpec node,
      String store,
      List<String> accTypes,
      List<String> init,
      List<String> add,
      List<String> results,
      boolean toldAtOnce,
      String onClose,
      long longerMs,
      Long lostMs,
      Windows windows)
      implements WindowedFold {
    public WindowFold {
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      results = Spec.orEmpty(results);
    }

    @Override
    public Closing closing() {
      return Retained.of(windows, longerMs);
    }
  }

  /** Aggregates the records of a stream by key and session. */
  record SessionFold(
      NodeSpec node,
      String store,
      List<String> accTypes,
      List<String> init,
      List<String> add,
      List<String> merge,
      List<String> results,
      boolean toldAtOnce,
      String onClose,
      long longerMs,
      long gapMs,
      long graceMs)
      implements WindowedFold {
    public SessionFold {
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      merge = Spec.orEmpty(merge);
      results = Spec.orEmpty(results);
    }

    public Sessions sessions() {
      return new Sessions(gapMs, graceMs);
    }

    @Override
    public Closing closing() {
      return Retained.of(sessions(), longerMs);
    }
  }

  /** Aggregates the records of a stream by key and sliding window. */
  record SlidingFold(
      NodeSpec node,
      String store,
      List<String> accTypes,
      List<String> init,
      List<String> add,
      List<String> results,
      boolean toldAtOnce,
      String onClose,
      long longerMs,
      long differenceMs,
      long graceMs)
      implements WindowedFold {
    public SlidingFold {
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      results = Spec.orEmpty(results);
    }

    public SlidingWindows windows() {
      return new SlidingWindows(differenceMs, graceMs, onClose != null);
    }

    @Override
    public Closing closing() {
      return Retained.of(windows(), longerMs);
    }
  }

  /** Suppresses changes of a table for some time. */
  record Suppress(
      NodeSpec node,
      String store,
      String keyBytes,
      boolean untilClose,
      long delayMs,
      long bucketMs,
      Long maxRecords,
      Long maxBytes,
      boolean shutDown)
      implements TableStore {}

  /**
   * Writes records to a topic; {@code topic} and {@code partition}, if given, are evaluated for
   * each record.
   */
  record Sink(
      NodeSpec node, int sink, String keyBytes, String valueBytes, String topic, String partition)
      implements Operator {}
}
