package org.duolog.kernel.spec;

/**
 * Windows that records of a key make: one ends with each record, and one begins right behind it if it
 * holds a record. Both ends are in a window.
 *
 * <p>Source: Kafka Streams SlidingWindows.
 *
 * @param onClose whether rows leave when they close: then long buckets are shorter, as the first one is sorted
 */
public record SlidingWindows(long differenceMs, long graceMs, boolean onClose) implements Closing {
  private static final long serialVersionUID = 1L;
  private static final int SORTED_PER_SPAN = 16;
  private static final long SORTED_MS = 1_000;

  public long end(long start) {
    return Windows.end(start, differenceMs);
  }

  /** A window closes when its end is below stream time less the grace period. */
  @Override
  public long delayMs() {
    return graceMs + 1;
  }

  /** Of a window that has closed, a new one beside it may still be made. */
  @Override
  public long letGoUntil(long streamTime) {
    return streamTime - delayMs() - differenceMs - 1;
  }

  @Override
  public boolean bucketsByEnd() {
    return false;
  }

  /** Windows that begin in one span are found together. */
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
