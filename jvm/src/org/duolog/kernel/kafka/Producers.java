package org.duolog.kernel.kafka;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The producers of this JVM: one for each configuration, for all tasks that write with it.
 *
 * <p>One that failed is retired: the next task gets another, and the last task that still has the
 * old one closes it. One that no task has stays open for the next micro-batch, until a query ends: without a
 * broker its thread would connect for ever. Threads: any.
 */
public final class Producers {
  private static final Map<Map<String, Object>, Shared> CURRENT = new HashMap<>();

  private Producers() {}

  /** A producer, until {@link #give}. */
  static synchronized Shared take(Map<String, Object> config) {
    Shared shared = CURRENT.computeIfAbsent(config, Shared::new);
    shared.users++;
    return shared;
  }

  /** Takes note that a task is done with a producer. */
  static void give(Shared shared) {
    if (isUnused(shared)) {
      shared.close();
    }
  }

  /** Has the next task take another producer: this one may be of no use any more. */
  static synchronized void retire(Shared shared) {
    shared.retired = true;
    CURRENT.remove(shared.config, shared);
  }

  /** Closes those that no task has; the next task with their configuration gets another. */
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

  /** A producer and who uses it. */
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

    /** What it still has to send is of tasks that have failed, and that will be run again. */
    private void close() {
      producer.close(Duration.ZERO);
    }
  }
}
