package org.duolog.kernel.metrics;

/**
 * Limits the entries of failed calls in the processing log: a call that fails for each record would
 * otherwise double what the query writes.
 *
 * <p>A token bucket: {@value #BURST} entries at once, then {@value #PER_SECOND} per second.
 * Threads: any.
 */
final class EntryLimit {
  static final int BURST = 100;
  static final int PER_SECOND = 10;

  private static final long NANOS_PER_ENTRY = 1_000_000_000L / PER_SECOND;

  private long credit = BURST * NANOS_PER_ENTRY;
  private long lastNanos;
  private boolean begun;
  private long leftOut;

  /**
   * Asks for an entry.
   *
   * @param nowNanos from {@link System#nanoTime}
   * @return the number of failures without an entry since the previous entry; -1 if this one gets
   *     none either
   */
  synchronized long ask(long nowNanos) {
    if (begun) {
      credit = Math.min(BURST * NANOS_PER_ENTRY, credit + Math.max(0, nowNanos - lastNanos));
    }
    begun = true;
    lastNanos = nowNanos;
    if (credit < NANOS_PER_ENTRY) {
      leftOut++;
      return -1;
    }
    credit -= NANOS_PER_ENTRY;
    long before = leftOut;
    leftOut = 0;
    return before;
  }
}
