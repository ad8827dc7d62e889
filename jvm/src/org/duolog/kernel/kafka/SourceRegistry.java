package org.duolog.kernel.kafka;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.topology.TopicsReader;

/**
 * What {@code Kernel} has built for the sources of a query, until Spark has made these.
 *
 * <p>Threads: any.
 */
public final class SourceRegistry {
  private static final Map<String, Route> WAITING = new ConcurrentHashMap<>();

  private SourceRegistry() {}

  /**
   * How the records of a source become envelopes.
   *
   * @param direct how they reach their tasks without a shuffle; null where they do not
   */
  public record Route(TopicsReader readers, PartitionRouting direct) {}

  public static void put(String horizon, int input, Route way) {
    WAITING.put(horizon + " " + input, way);
  }

  static Route take(String horizon, int input) {
    return WAITING.remove(horizon + " " + input);
  }
}
