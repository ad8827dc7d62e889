package org.duolog.kernel.python;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.duolog.kernel.functions.CallNotes;
import org.duolog.kernel.record.CallFailedException;
import org.duolog.kernel.spec.Spec;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A user's Python function; arguments and result are passed as JSON.
 *
 * <pre>
 *   duolog_python('application', 'price', bytes of {"a0":3,"a1":"SFO"})  ->  bytes of {"r":4.5}
 * </pre>
 *
 * <p>Serialized with tasks, together with everything that a worker needs to call it
 * ({@link PythonWorkers}). As an expression it is called with one record, and the task waits.
 * Threads: any.
 */
public final class PythonFunction implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Map<String, PythonFunction> DEFINED = new ConcurrentHashMap<>();
  private static final String OF_KEYS_AT = "of keys at ";

  private final String name;
  private final String id;
  private final String run;
  private final byte[] body;
  private final Spec.WorkerCommand command;
  private final long timeoutMs;
  private final int lookups;

  /**
   * @param name its name, and where it is defined
   * @param id identifies the code, unless the function can be imported by its name
   * @param run the start of a query that defines it; null if starts are not distinguished
   * @param body the pickled function
   * @param timeoutMs how long one record may take
   * @param lookups how many calls may be in progress at once; 0 for one at a time
   */
  PythonFunction(
      String name,
      String id,
      String run,
      byte[] body,
      Spec.WorkerCommand command,
      long timeoutMs,
      int lookups) {
    this.name = name;
    this.id = id;
    this.run = run;
    this.body = body;
    this.command = command;
    this.timeoutMs = timeoutMs;
    this.lookups = lookups;
  }

  String name() {
    return name;
  }

  String id() {
    return id;
  }

  /** The start of a query that it belongs to: results of an earlier start are not reused. */
  String run() {
    return run;
  }

  byte[] body() {
    return body;
  }

  Spec.WorkerCommand command() {
    return command;
  }

  long timeoutMs() {
    return timeoutMs;
  }

  public int lookups() {
    return lookups;
  }

  /** Defines the functions of a spec for expressions that are bound from now on. */
  public static void define(Spec spec) {
    for (Spec.Function function : spec.functions()) {
      DEFINED.put(
          spec.applicationId() + "/" + function.name(),
          new PythonFunction(
              function.told(),
              function.id(),
              spec.run(),
              function.body(),
              spec.python().command(),
              function.timeoutMs() == null ? spec.python().timeoutMs() : function.timeoutMs(),
              function.lookups() == null ? 0 : function.lookups()));
    }
  }

  /**
   * Returns a text that changes if the code of a function changes, or if a key function must be
   * asked again.
   */
  public static String versions(Spec spec) {
    return spec.functions().stream()
        .map(one -> one.name().startsWith(OF_KEYS_AT) ? one.id() + "@" + spec.run() : one.id())
        .collect(Collectors.joining(" "));
  }

  /**
   * Returns the function that executors call for keys at a node; null if the process that started
   * the query is asked.
   */
  static PythonFunction ofKeysAt(String applicationId, String node) {
    return DEFINED.get(applicationId + "/" + OF_KEYS_AT + node);
  }

  public static PythonFunction of(String applicationId, String name) {
    PythonFunction known = DEFINED.get(applicationId + "/" + name);
    if (known == null) {
      throw new IllegalArgumentException("the spec has no Python function " + name);
    }
    return known;
  }

  /** duolog_python('application', 'function', BINARY) */
  public static void register(FunctionRegistry registry) {
    List<AbstractDataType> inputs = List.of(DataTypes.BinaryType);
    registry.createOrReplaceTempFunction(
        "duolog_python",
        arguments -> {
          String application = ((Literal) arguments.apply(0)).value().toString();
          String name = ((Literal) arguments.apply(1)).value().toString();
          List<Expression> given = List.of(arguments.apply(2));
          return new Invoke(
              Literal.fromObject(of(application, name), new ObjectType(PythonFunction.class)),
              "call",
              DataTypes.BinaryType,
              CollectionConverters.asScala(given).toSeq(),
              CollectionConverters.asScala(inputs).toSeq(),
              true,
              true,
              true);
        },
        "scala_udf");
  }

  /**
   * Returns the partition that a key function chooses; null if the key determines it.
   *
   * @throws CallFailedException if it fails, does not return a partition, or does not return in
   *     time
   */
  public Integer ofKey(byte[] key) throws CallFailedException {
    return KeyFunctions.remembered(this, key);
  }

  /**
   * Calls the function with one record.
   *
   * @throws CallFailedException if it fails, or does not return in time
   */
  public byte[] call(byte[] arguments) throws CallFailedException {
    PythonWorkers.Answer answer = PythonWorkers.call(this, List.of(arguments)).get(0);
    if (answer.error() != null) {
      throw new CallFailedException(answer.error());
    }
    if (answer.note() != null) {
      CallNotes.add(answer.note());
    }
    return answer.result();
  }
}
