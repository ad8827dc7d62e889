package org.duolog.kernel.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The producers of this JVM: one for each configuration, shared by all tasks.
 *
 * <p>A producer splits a rejected record batch into pieces of {@code batch.size}, which can be
 * rejected again. So {@code batch.size} must not exceed a topic's {@code max.message.bytes}.
 *
 * <p>A producer that failed is retired: the next task gets a new one, and the last task that uses
 * the old one closes it. An unused producer stays open for the next micro-batch until a query ends:
 * without a broker its thread would try to connect forever. Threads: any.
 */
public final class Producers {
  private static final Map<Map<String, Object>, Shared> CURRENT = new HashMap<>();

  private Producers() {}

  /** Returns a producer to be used until {@link #give}. */
  static synchronized Shared take(Map<String, Object> config) {
    Shared shared = CURRENT.computeIfAbsent(config, Shared::new);
    shared.users++;
    return shared;
  }

  /** Ends a task's use of a producer. */
  static void give(Shared shared) {
    if (isUnused(shared)) {
      shared.close();
    }
  }

  /** Retires a producer that may be unusable: the next task gets another. */
  static synchronized void retire(Shared shared) {
    shared.retired = true;
    CURRENT.remove(shared.config, shared);
  }

  /** Closes unused producers; the next task with their configuration gets a new one. */
  public static synchronized void closeUnused() {
    CURRENT
        .values()
        .removeIf(
            shared -> {
              if (shared.users == 0) {
                shared.close();
              }
              return shared.users == 0;
            });
  }

  private static synchronized boolean isUnused(Shared shared) {
    shared.users--;
    return shared.users == 0 && shared.retired;
  }

  /** A producer with the number of its users. */
  static final class Shared {
    final KafkaProducer<byte[], byte[]> producer;
    private final Map<String, Object> config;
    private int users;
    private boolean retired;

    private Shared(Map<String, Object> config) {
      this.config = config;
      producer =
          new KafkaProducer<>(
              new HashMap<>(config), new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** Unsent records belong to tasks that have failed and will run again. */
    private void close() {
      producer.close(Duration.ZERO);
    }
  }
}
