import java.io.IOException;

/** Sends one record at a time at a rate, and notes when the consumer has it. */
final class Pacer {
  private static final int KEPT = 1 << 16;

  private final Load load;
  private final Producer producer;
  private final long[] sentAt = new long[KEPT];
  private final long intervalNs;
  private long next;
  private long delivered;

  Pacer(Load load, Fetcher fetcher, Producer producer) {
    this.load = load;
    this.producer = producer;
    intervalNs = 1_000_000_000L / load.integer("rate");
    fetcher.pacer = this;
  }

  /** Send if it is time to; returns milliseconds until the next time. */
  long sendDue(long now) throws IOException {
    if (next == 0) {
      next = now + 100_000_000L; // The consumer waits by then.
    }
    if (now >= next) {
      next += intervalNs;
      sentAt[(int) (producer.askedTimes() % KEPT)] = System.nanoTime();
      producer.sendOne();
    }
    return Math.max(0, next - System.nanoTime()) / 1_000_000;
  }

  /** Everything below {@code end} is with the consumer. */
  void delivered(long end) {
    long now = System.nanoTime();
    for (; delivered < end; delivered++) {
      if (load.measuring) {
        load.deliveries.add(now - sentAt[(int) (delivered % KEPT)]);
      }
    }
  }
}
