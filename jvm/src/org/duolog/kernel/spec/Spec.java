package org.duolog.kernel.spec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.module.SimpleModule;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The JSON that the engine writes for the kernel, with names in snake_case.
 *
 * <p>{@code jvm/README.md} describes each field. An unknown field is an error, so that a misspelt
 * one is not ignored.
 */
public record Spec(
    String applicationId,
    int tasks,
    int shufflePartitions,
    boolean realTime,
    boolean direct,
    boolean exactlyOnce,
    long cacheBytesMax,
    int generation,
    List<Source> sources,
    Source ticks,
    List<Edge> edges,
    List<List<Integer>> levels,
    Map<Integer, Operator> nodes,
    List<String> stores,
    List<Output> sinks,
    Errors errors,
    List<Function> functions,
    Python python,
    String run,
    String launch) {

  private static final ObjectMapper MAPPER =
      new ObjectMapper()
          .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .registerModule(
              new SimpleModule().addDeserializer(Operator.class, new OperatorReader()));

  public Spec {
    sources = withTicks(orEmpty(sources), ticks);
    edges = orEmpty(edges);
    levels = orEmpty(levels);
    stores = orEmpty(stores);
    sinks = orEmpty(sinks);
    functions = orEmpty(functions);
    nodes = nodes == null ? Map.of() : nodes;
    errors = errors == null ? new Errors(null, null, null, null, null, false, false) : errors;
    if (tasks < 1 || shufflePartitions < 1) {
      throw new IllegalArgumentException("tasks and shuffle_partitions must be at least 1");
    }
  }

  public static Spec parse(String json) {
    return parse(json, Spec.class);
  }

  public static <T> T parse(String json, Class<T> type) {
    try {
      return MAPPER.readValue(json, type);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("the kernel's spec is not valid: " + e.getMessage(), e);
    }
  }

  public Operator node(int id) {
    Operator operator = nodes.get(id);
    if (operator == null) {
      throw new IllegalArgumentException("the spec has no node " + id);
    }
    return operator;
  }

  /** Ticks are read like a topic, after all others. */
  private static List<Source> withTicks(List<Source> sources, Source ticks) {
    List<Source> all = new ArrayList<>(sources);
    if (ticks != null) {
      all.add(ticks);
    }
    return all;
  }

  public static <T> List<T> orEmpty(List<T> list) {
    return list == null ? List.of() : list;
  }

  /**
   * A source topic: how its bytes become rows, and which nodes read them.
   *
   * @param input the name of the Spark source that reads the topic, perhaps with other topics; the
   *     topic if it is not given
   */
  public record Source(
      int id,
      String topic,
      boolean table,
      String corrupt,
      String keyNull,
      String valueNull,
      List<String> keys,
      List<String> values,
      Parse parse,
      List<String> keyTypes,
      List<String> valueTypes,
      String timestamp,
      String invalidTimestamp,
      String input,
      List<Integer> children) {
    public Source {
      keys = orEmpty(keys);
      values = orEmpty(values);
      keyTypes = orEmpty(keyTypes);
      valueTypes = orEmpty(valueTypes);
      children = orEmpty(children);
      input = input == null ? topic : input;
      parse = parse == null ? new Parse(List.of()) : parse;
    }
  }

  /**
   * Expressions computed once per record, which the source's other expressions read as p0, p1, …
   */
  public record Parse(List<String> columns) {
    public Parse {
      columns = orEmpty(columns);
    }
  }

  /**
   * An input of a sub-topology. The order of queues ranks inputs with equal timestamps.
   *
   * @param queue the first of the edges that come from the same source or sub-topology; the edge's
   *     own id if there is only one
   * @param rekeyed true if records leave only when the record that caused them is done
   */
  public record Edge(
      int id,
      int subtopology,
      Integer queue,
      boolean rekeyed,
      List<String> keyTypes,
      List<String> valueTypes,
      int node) {
    public Edge {
      queue = queue == null ? id : queue;
      keyTypes = orEmpty(keyTypes);
      valueTypes = orEmpty(valueTypes);
    }
  }

  /** The handlers of errors when records are read, processed and written; see ErrorHandlers. */
  public record Errors(
      String deserialization,
      String processing,
      String production,
      String aggregation,
      String deadLetterTopic,
      boolean processingLog,
      boolean logRows) {
    public Errors {
      deserialization = orElse(deserialization, "log_and_continue");
      processing = orElse(processing, "log_and_fail");
      production = orElse(production, "log_and_fail");
      aggregation = orElse(aggregation, processing);
    }

    private static String orElse(String given, String otherwise) {
      return given == null ? otherwise : given;
    }
  }

  /**
   * A sink topic.
   *
   * @param windowBytes how many bytes at the end of its keys encode a window, which does not choose
   *     the partition; mostly 0
   * @param call true if it is not a topic: its records are arguments of the function with this name
   * @param store the store whose changelog it is; null for others
   */
  public record Output(int id, String topic, int windowBytes, boolean call, String store) {}

  /**
   * A Python function, called by its name in expressions.
   *
   * @param told its name in messages
   * @param id identifies the code
   * @param body the pickled function, in base64
   * @param timeoutMs how long one record may take; null for the default of all functions
   * @param lookups how many calls may be in progress at once; null for one call at a time
   */
  public record Function(
      String name, String told, String id, byte[] body, Long timeoutMs, Integer lookups) {}

  /** The command that starts Python for functions, and the time limit for one record. */
  public record Python(WorkerCommand command, long timeoutMs) {}

  /**
   * The command that starts a Python worker.
   *
   * @param line the program and its arguments
   * @param directory its working directory
   * @param environment variables in addition to those of this process
   */
  public record WorkerCommand(List<String> line, String directory, Map<String, String> environment)
      implements Serializable {}
}
