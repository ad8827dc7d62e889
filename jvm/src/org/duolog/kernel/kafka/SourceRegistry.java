package org.duolog.kernel.kafka;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.topology.MultiTopicReader;

/**
 * Holds what {@code Kernel} has built for the sources of a query, until Spark has created them.
 *
 * <p>Threads: any.
 */
public final class SourceRegistry {
  private static final Map<String, Route> WAITING = new ConcurrentHashMap<>();

  private SourceRegistry() {}

  /**
   * The readers that turn the records of a source into envelopes.
   *
   * @param direct routes them to their tasks without a shuffle; null if there is a shuffle
   */
  public record Route(MultiTopicReader readers, PartitionRouting direct) {}

  public static void put(String horizon, int input, Route way) {
    WAITING.put(horizon + " " + input, way);
  }

  static Route take(String horizon, int input) {
    return WAITING.remove(horizon + " " + input);
  }
}
