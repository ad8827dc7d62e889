package org.duolog.kernel.kafka;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.duolog.kernel.task.Direct;
import org.duolog.kernel.topology.TopicsReader;

/**
 * What {@code Kernel} has built for the sources of a query, until Spark has made these.
 *
 * <p>Threads: any.
 */
public final class Ways {
  private static final Map<String, Way> WAITING = new ConcurrentHashMap<>();

  private Ways() {}

  /**
   * How the records of a source become envelopes.
   *
   * @param direct how they reach their tasks without a shuffle; null where they do not
   */
  public record Way(TopicsReader readers, Direct direct) {}

  public static void put(String horizon, int input, Way way) {
    WAITING.put(horizon + " " + input, way);
  }

  static Way take(String horizon, int input) {
    return WAITING.remove(horizon + " " + input);
  }
}
