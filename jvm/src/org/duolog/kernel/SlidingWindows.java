package org.duolog.kernel;

/**
 * Windows that records of a key make: one ends with each record, and one begins right behind it if it
 * holds a record. Both ends are in a window.
 *
 * <p>Source: Kafka Streams SlidingWindows.
 */
record SlidingWindows(long differenceMs, long graceMs) implements Closing {
  private static final long serialVersionUID = 1L;

  long end(long start) {
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

  @Override
  public long bucketMs() {
    return Math.max(1, differenceMs);
  }

  @Override
  public long lastEnd(long lastMs) {
    return end(lastMs);
  }
}
