package org.duolog.kernel.kafka;

import java.util.Map;

/** Prints the number of open producers after each step; needs no broker. */
public final class ProducerPoolSteps {
  private static final Map<String, Object> CONFIG = Map.of("bootstrap.servers", "127.0.0.1:1");

  private ProducerPoolSteps() {}

  public static void main(String[] args) {
    Producers.Shared first = Producers.take(CONFIG);
    Producers.Shared again = Producers.take(CONFIG);
    print();
    Producers.retire(first);
    Producers.Shared next = Producers.take(CONFIG);
    print();
    Producers.give(first);
    print();
    Producers.give(again);
    print();
    Producers.closeUnused();
    print();
    Producers.give(next);
    print();
    Producers.closeUnused();
    print();
  }

  private static void print() {
    System.out.println(
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().startsWith("kafka-producer-network-thread"))
            .count());
  }
}
