package org.duolog.kernel.spec;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.util.List;
import java.util.Map;

/**
 * One node of a spec, with a class for each {@code kind}. An unknown field is an error.
 *
 * <p>All have a name for messages, the nodes that they feed, the types of their input, and a flag that is true if the
 * input carries changes of a table.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
public interface Operator {
  /** The class of each kind. */
  Map<String, Class<? extends Operator>> KINDS =
      Map.ofEntries(
          Map.entry("filter", Filter.class),
          Map.entry("project", Project.class),
          Map.entry("python", Python.class),
          Map.entry("select_key", SelectKey.class),
          Map.entry("explode", Explode.class),
          Map.entry("split", Split.class),
          Map.entry("to_stream", ToStream.class),
          Map.entry("table", Table.class),
          Map.entry("lookup", JoinOperators.Lookup.class),
          Map.entry("wait", JoinOperators.Wait.class),
          Map.entry("join", JoinOperators.Join.class),
          Map.entry("number", ForeignOperators.Number.class),
          Map.entry("announce", ForeignOperators.Announce.class),
          Map.entry("subscribe", ForeignOperators.Subscribe.class),
          Map.entry("subscriptions", ForeignOperators.Subscriptions.class),
          Map.entry("foreign_table", ForeignOperators.ForeignTable.class),
          Map.entry("newest", ForeignOperators.Newest.class),
          Map.entry("foreign_join", ForeignOperators.ForeignJoin.class),
          Map.entry("stream_join", JoinOperators.StreamJoin.class),
          Map.entry("fold", Fold.class),
          Map.entry("headers", Headers.class),
          Map.entry("time", Time.class),
          Map.entry("print", Print.class),
          Map.entry("window_fold", WindowFold.class),
          Map.entry("session_fold", SessionFold.class),
          Map.entry("sliding_fold", SlidingFold.class),
          Map.entry("suppress", Suppress.class),
          Map.entry("idle", Idle.class),
          Map.entry("process", ProcessorOperators.Process.class),
          Map.entry("process_output", ProcessorOperators.ProcessOutput.class),
          Map.entry("punctuate", ProcessorOperators.Punctuate.class),
          Map.entry("route", RouteOperator.class),
          Map.entry("sink", Sink.class));

  String name();

  List<Integer> children();

  List<String> keyTypes();

  List<String> valueTypes();

  boolean table();

  default String kind() {
    return KINDS.entrySet().stream()
        .filter(row -> row.getValue() == getClass())
        .findFirst()
        .orElseThrow()
        .getKey();
  }

  /** Keeps the records for which the predicate holds; forwards each version of a versioned table. */
  record Filter(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String predicate,
      boolean versioned)
      implements Operator {
    public Filter {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Computes a new value. */
  record Project(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      List<String> values)
      implements Operator {
    public Project {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
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
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String function,
      String arguments,
      List<String> values,
      boolean nulls)
      implements Operator {
    public Python {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Gives records of a stream a new key. A key of only nulls counts as null, unless nulls are kept. */
  record SelectKey(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      List<String> keys,
      boolean keepsNulls)
      implements Operator {
    public SelectKey {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      keys = Spec.orEmpty(keys);
    }
  }

  /** Forwards a record for each element of arrays, which all have one length. */
  record Explode(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      List<String> arrays,
      List<String> arrayTypes,
      boolean outer,
      List<String> values)
      implements Operator {
    public Explode {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      arrays = Spec.orEmpty(arrays);
      arrayTypes = Spec.orEmpty(arrayTypes);
      values = Spec.orEmpty(values);
    }
  }

  /** Forwards each record to one child: that of the first predicate that holds. */
  record Split(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      List<String> predicates,
      List<Integer> branches)
      implements Operator {
    public Split {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      predicates = Spec.orEmpty(predicates);
      branches = Spec.orEmpty(branches);
    }
  }

  /** Turns the changes of a table into a stream. */
  record ToStream(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table)
      implements Operator {
    public ToStream {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Stores rows, and turns upserts into changes; with a history, also earlier versions. */
  record Table(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      Long ttlMs,
      Long historyMs,
      Long bucketMs)
      implements Operator {
    public Table {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Aggregates by key; without {@code subtract}, only records of a stream. */
  record Fold(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      List<String> accTypes,
      List<String> init,
      List<String> add,
      List<String> subtract,
      List<String> results,
      boolean toldAtOnce,
      boolean paged,
      Long ttlMs)
      implements Operator {
    public Fold {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      results = Spec.orEmpty(results);
    }
  }

  /** Removes headers from records and adds others. */
  record Headers(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      boolean clears,
      List<String> removed,
      List<String> written,
      List<String> values)
      implements Operator {
    public Headers {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      removed = Spec.orEmpty(removed);
      written = Spec.orEmpty(written);
      values = Spec.orEmpty(values);
    }
  }

  /** Gives records of a stream another timestamp. */
  record Time(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String time)
      implements Operator {
    public Time {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Prints the first records; all of them if there is no limit. */
  record Print(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String label,
      Long limit,
      String keyText,
      String valueText)
      implements Operator {
    public Print {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Closes windows of an aggregate that have ended, if it has had no record for some time. */
  record Idle(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      int fold,
      String store,
      long idleMs)
      implements Operator {
    public Idle {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Aggregates the records of a stream by key and time window. */
  record WindowFold(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
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
      implements Operator {
    public WindowFold {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      results = Spec.orEmpty(results);
    }

    public Closing closing() {
      return Retained.of(windows, longerMs);
    }
  }

  /** Aggregates the records of a stream by key and session. */
  record SessionFold(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
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
      implements Operator {
    public SessionFold {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      merge = Spec.orEmpty(merge);
      results = Spec.orEmpty(results);
    }

    public Sessions sessions() {
      return new Sessions(gapMs, graceMs);
    }

    public Closing closing() {
      return Retained.of(sessions(), longerMs);
    }
  }

  /** Aggregates the records of a stream by key and sliding window. */
  record SlidingFold(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
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
      implements Operator {
    public SlidingFold {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
      accTypes = Spec.orEmpty(accTypes);
      init = Spec.orEmpty(init);
      add = Spec.orEmpty(add);
      results = Spec.orEmpty(results);
    }

    public SlidingWindows windows() {
      return new SlidingWindows(differenceMs, graceMs, onClose != null);
    }

    public Closing closing() {
      return Retained.of(windows(), longerMs);
    }
  }

  /** Suppresses changes of a table for some time. */
  record Suppress(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      String store,
      String keyBytes,
      boolean untilClose,
      long delayMs,
      long bucketMs,
      Long maxRecords,
      Long maxBytes,
      boolean shutDown)
      implements Operator {
    public Suppress {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /** Writes records to a topic; {@code topic} and {@code partition}, if given, are evaluated for each record. */
  record Sink(
      String name,
      List<Integer> children,
      List<String> keyTypes,
      List<String> valueTypes,
      boolean table,
      int sink,
      String keyBytes,
      String valueBytes,
      String topic,
      String partition)
      implements Operator {
    public Sink {
      children = Spec.orEmpty(children);
      keyTypes = Spec.orEmpty(keyTypes);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }
}
