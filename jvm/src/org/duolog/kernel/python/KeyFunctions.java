package org.duolog.kernel.python;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.record.CallFailedException;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Partition numbers of keys, computed by functions of the process that started the query.
 *
 * <p>A task waits in {@code ofKey}. The process takes the keys, calls the function of each, and
 * returns the numbers.
 *
 * <p>A stop can interrupt the expression that calls a function. This throws an {@code Error} and
 * not an {@code Exception}, which would be attributed to the record.
 *
 * <p>A function returns the same number for the same key, so recent results are cached. If tasks
 * are in other JVMs, functions are called in processes next to them ({@link PythonFunction}), and
 * each JVM caches the results. Source: Kafka Streams StreamPartitioner. Threads: any.
 */
public final class KeyFunctions {
  private static final int KNOWN_MAX = 100_000;
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, KeyFunctions> BY_APPLICATION = new ConcurrentHashMap<>();

  /**
   * Counts questions over all queries, so that an answer to an earlier query never matches a later
   * question.
   */
  private static final AtomicLong NEXT = new AtomicLong();

  /**
   * Results of functions called by this JVM. An executor may outlive the query, so its entries name
   * the run.
   */
  private static final Map<Asking, KnownPartition> KNOWN_PARTITIONS = newest();

  private final Map<Key, Answer> known = newest();
  private final Deque<Long> waiting = new ArrayDeque<>();
  private final Map<Long, Asked> asked = new HashMap<>();

  private record Key(String function, String json) {}

  /**
   * A key and the run that asks: another run may have other code, even if its id is only the
   * function's name.
   */
  private record Asking(String run, Key key) {}

  /** A partition, or null if the key determines it. */
  private record KnownPartition(Integer partition) {}

  private record Asked(Key key, Answer answer) {}

  private static final class Answer {
    private boolean given;
    private Integer number;
    private String error;
  }

  /** A task was stopped while it waits. Not an exception, as those are attributed to the record. */
  private static final class Stopped extends Error {
    private static final long serialVersionUID = 1L;

    Stopped(InterruptedException cause) {
      super("interrupted while a function computes a key", cause);
    }
  }

  private KeyFunctions() {}

  private static KeyFunctions of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new KeyFunctions());
  }

  /** duolog_of_key(application, function, key as JSON) */
  public static void register(FunctionRegistry registry) {
    List<AbstractDataType> inputs =
        List.of(DataTypes.StringType, DataTypes.StringType, DataTypes.BinaryType);
    registry.createOrReplaceTempFunction(
        "duolog_of_key",
        (Seq<Expression> arguments) -> {
          PythonFunction there =
              PythonFunction.ofKeysAt(literal(arguments.apply(0)), literal(arguments.apply(1)));
          return there == null
              ? asksHere(arguments, inputs)
              : callsThere(there, arguments.apply(2));
        },
        "scala_udf");
  }

  private static String literal(Expression argument) {
    return ((Literal) argument).value().toString();
  }

  private static Expression asksHere(Seq<Expression> arguments, List<AbstractDataType> inputs) {
    return new StaticInvoke(
        KeyFunctions.class,
        DataTypes.IntegerType,
        "ofKey",
        arguments,
        CollectionConverters.asScala(inputs).toSeq(),
        true,
        true,
        true,
        Option.empty());
  }

  private static Expression callsThere(PythonFunction function, Expression key) {
    List<AbstractDataType> inputs = List.of(DataTypes.BinaryType);
    return new Invoke(
        Literal.fromObject(function, new ObjectType(PythonFunction.class)),
        "ofKey",
        DataTypes.IntegerType,
        CollectionConverters.asScala(List.of(key)).toSeq(),
        CollectionConverters.asScala(inputs).toSeq(),
        true,
        true,
        true);
  }

  private static <A, B> Map<A, B> newest() {
    return new LinkedHashMap<>(16, 0.75f, true) {
      private static final long serialVersionUID = 1L;

      @Override
      protected boolean removeEldestEntry(Map.Entry<A, B> eldest) {
        return size() > KNOWN_MAX;
      }
    };
  }

  /** Returns the result of a function that this JVM calls; cached unless the call fails. */
  static Integer remembered(PythonFunction function, byte[] key) throws CallFailedException {
    String json = new String(key, StandardCharsets.UTF_8);
    Asking of = new Asking(function.run(), new Key(function.id(), json));
    synchronized (KNOWN_PARTITIONS) {
      KnownPartition told = KNOWN_PARTITIONS.get(of);
      if (told != null) {
        return told.partition;
      }
    }
    try {
      byte[] result = function.call(MAPPER.writeValueAsBytes(Map.of("a0", json)));
      JsonNode given = MAPPER.readTree(result).get("r");
      Integer partition = given.isNull() ? null : (Integer) given.asInt();
      synchronized (KNOWN_PARTITIONS) {
        KNOWN_PARTITIONS.put(of, new KnownPartition(partition));
      }
      return partition;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns the result of the function for a key; null if the key determines the partition.
   *
   * @throws IllegalArgumentException if the function fails, or does not return a partition
   */
  public static Integer ofKey(UTF8String applicationId, UTF8String function, byte[] key) {
    String json = new String(key, StandardCharsets.UTF_8);
    return of(applicationId.toString()).ask(new Key(function.toString(), json));
  }

  private synchronized Integer ask(Key key) {
    Answer answer = known.get(key);
    if (answer == null) {
      answer = new Answer();
      known.put(key, answer);
      long number = NEXT.getAndIncrement();
      asked.put(number, new Asked(key, answer));
      waiting.add(number);
      notifyAll();
    }
    while (!answer.given) {
      try {
        wait();
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
        throw new Stopped(stopping);
      }
    }
    if (answer.error != null) {
      throw new IllegalArgumentException(answer.error);
    }
    return answer.number;
  }

  /**
   * Returns the next unanswered keys as JSON {@code [[number, function, key], …]}; waits for the
   * first one.
   */
  public static String take(String applicationId, int max, long waitMs) {
    return of(applicationId).take(max, waitMs);
  }

  private synchronized String take(int max, long waitMs) {
    Arrivals.await(this, waiting, waitMs);
    StringWriter text = new StringWriter();
    try (JsonGenerator json = MAPPER.createGenerator(text)) {
      json.writeStartArray();
      for (int count = 0; count < max && !waiting.isEmpty(); count++) {
        long number = waiting.poll();
        Key key = asked.get(number).key;
        json.writeStartArray();
        json.writeNumber(number);
        json.writeString(key.function);
        json.writeString(key.json);
        json.writeEndArray();
      }
      json.writeEndArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  /** Takes answers as JSON {@code [[number, partition or null, error or null], …]}. */
  public static void tell(String applicationId, String answers) throws IOException {
    of(applicationId).tell(MAPPER.readTree(answers));
  }

  private synchronized void tell(JsonNode answers) {
    for (JsonNode told : answers) {
      Asked of = asked.remove(told.get(0).asLong());
      if (of != null) {
        of.answer.number = told.get(1).isNull() ? null : (Integer) told.get(1).asInt();
        of.answer.error = told.get(2).isNull() ? null : told.get(2).asText();
        of.answer.given = true;
      }
    }
    notifyAll();
  }

  /** Discards questions of tasks of an earlier query. */
  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }
}
