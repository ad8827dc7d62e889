package org.duolog.kernel;

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
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Numbers that functions of the process which started the query give for keys.
 *
 * <pre>  task: ofKey waits      the process: take, call each, tell
 * </pre>
 *
 * <p>A key is asked for once, as long as it is among the last that were asked for: a function gives the same
 * for the same key. Source: Kafka Streams StreamPartitioner. Threads: any.
 */
public final class KeyFunctions {
  private static final int KNOWN_MAX = 100_000;
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, KeyFunctions> BY_APPLICATION = new ConcurrentHashMap<>();

  /** Over all queries: an answer to an earlier one's question is to none of a later one's. */
  private static final AtomicLong NEXT = new AtomicLong();

  private final Map<Key, Answer> known =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Answer> eldest) {
          return size() > KNOWN_MAX;
        }
      };
  private final Deque<Long> waiting = new ArrayDeque<>();
  private final Map<Long, Asked> asked = new HashMap<>();

  private record Key(String function, String json) {}

  private record Asked(Key key, Answer answer) {}

  private static final class Answer {
    private boolean given;
    private Integer number;
    private String error;
  }

  /** A task is stopped while it waits: no fault of its record, as an exception would be. */
  private static final class Stopped extends Error {
    private static final long serialVersionUID = 1L;

    Stopped(InterruptedException cause) {
      super("stopped while a function is asked for a key", cause);
    }
  }

  private KeyFunctions() {}

  private static KeyFunctions of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new KeyFunctions());
  }

  /** duolog_of_key(application, function, key as JSON) */
  static void register(FunctionRegistry registry) {
    List<AbstractDataType> inputs =
        List.of(DataTypes.StringType, DataTypes.StringType, DataTypes.BinaryType);
    registry.createOrReplaceTempFunction(
        "duolog_of_key",
        (Seq<Expression> arguments) ->
            new StaticInvoke(
                KeyFunctions.class,
                DataTypes.IntegerType,
                "ofKey",
                arguments,
                CollectionConverters.asScala(inputs).toSeq(),
                true,
                true,
                true,
                Option.empty()),
        "scala_udf");
  }

  /**
   * What the function gives; null where the key is to choose.
   *
   * @throws IllegalArgumentException the function has failed, or gave no partition
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

  /** The next keys to be answered, as JSON {@code [[number, function, key], …]}; waits for the first one. */
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

  /** Takes answers, as JSON {@code [[number, partition or null, error or null], …]}. */
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

  /** Starts anew: what tasks of an earlier query have asked is not answered any more. */
  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }
}
