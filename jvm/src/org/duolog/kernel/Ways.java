package org.duolog.kernel;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What {@link Kernel} has built for the sources of a query, until Spark has made these.
 *
 * <p>Threads: any.
 */
final class Ways {
  private static final Map<String, Way> WAITING = new ConcurrentHashMap<>();

  private Ways() {}

  /**
   * How the records of a source become envelopes.
   *
   * @param direct how they reach their tasks without a shuffle; null where they do not
   */
  record Way(TopicsReader readers, Direct direct) {}

  static void put(String horizon, int input, Way way) {
    WAITING.put(horizon + " " + input, way);
  }

  static Way take(String horizon, int input) {
    return WAITING.remove(horizon + " " + input);
  }
}
