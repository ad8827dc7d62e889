package org.duolog.kernel.spec;

/**
 * Windows defined by the records of a key: one ends with each record, and one starts right after it
 * if it contains a record. Both bounds are inclusive.
 *
 * <p>Source: Kafka Streams SlidingWindows.
 *
 * @param onClose true if rows are emitted when windows close: then long buckets are made shorter,
 *     as the first one is sorted
 */
public record SlidingWindows(long differenceMs, long graceMs, boolean onClose) implements Closing {
  private static final long serialVersionUID = 1L;
  private static final int SORTED_PER_SPAN = 16;
  private static final long SORTED_MS = 1_000;

  public long end(long start) {
    return Windows.end(start, differenceMs);
  }

  /** A window closes when its end is before stream time minus the grace period. */
  @Override
  public long delayMs() {
    return graceMs + 1;
  }

  /** A window that has closed may still be used to create the one next to it. */
  @Override
  public long expiredUntil(long streamTime) {
    return streamTime - delayMs() - differenceMs - 1;
  }

  @Override
  public boolean bucketsByEnd() {
    return false;
  }

  /** Returns the length of a span: windows that start in one span are found together. */
  public long spanMs() {
    return differenceMs;
  }

  @Override
  public long bucketMs() {
    long sorted = Math.max(SORTED_MS, differenceMs / SORTED_PER_SPAN);
    return Math.max(1, onClose ? Math.min(differenceMs, sorted) : differenceMs);
  }

  @Override
  public long firstEnd(long firstMs) {
    return end(firstMs);
  }

  @Override
  public long lastEnd(long lastMs) {
    return end(lastMs);
  }
}
