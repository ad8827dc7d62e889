package org.duolog.kernel.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;

/**
 * Buffers the records that tasks of this JVM print, until the process that started it fetches them.
 * Records beyond the limit are counted. Executors of a cluster, which have no such process, write
 * to their standard output. Threads: any.
 */
public final class Prints {
  private static final int WAITING_MAX = 10_000;
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, Prints> BY_APPLICATION = new ConcurrentHashMap<>();

  private final Map<String, Long> printed = new ConcurrentHashMap<>();
  private List<Line> waiting = new ArrayList<>();
  private long leftOut;

  private record Line(String label, long ts, String key, String value) {}

  private Prints() {}

  public static Prints of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new Prints());
  }

  /** Returns true if a node may print one more of its `limit` records, and counts it. */
  public boolean mayPrint(String node, long limit) {
    return printed.merge(node, 1L, Long::sum) <= limit;
  }

  public synchronized void add(String label, long ts, String key, String value) {
    if (isExecutor()) {
      System.out.printf("[%s] %s %s %s%n", label, Instant.ofEpochMilli(ts), key, value);
      return;
    }
    if (waiting.size() < WAITING_MAX) {
      waiting.add(new Line(label, ts, key, value));
    } else {
      leftOut++;
    }
  }

  private static boolean isExecutor() {
    SparkEnv spark = SparkEnv.get();
    return spark != null && !spark.executorId().equals("driver");
  }

  /**
   * Returns the records printed since the last call as JSON:
   * {@code {"records": [{"label", "ts", "key", "value"}], "left_out"}}; keys and values are JSON or
   * null.
   */
  public static String take(String applicationId) {
    Prints prints = of(applicationId);
    Map<String, Object> taken;
    synchronized (prints) {
      taken = Map.of("records", prints.waiting, "left_out", prints.leftOut);
      prints.waiting = new ArrayList<>();
      prints.leftOut = 0;
    }
    try {
      return MAPPER.writeValueAsString(taken);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }
}
