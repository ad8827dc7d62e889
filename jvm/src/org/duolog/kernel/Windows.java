package org.duolog.kernel;

/**
 * Windows of time of one size, one beginning every so often since 1970.
 *
 * <p>Source: Kafka Streams TimeWindows.
 */
record Windows(long sizeMs, long advanceMs, long graceMs) implements Closing {
  private static final long serialVersionUID = 1L;
  private static final int BUCKETS_PER_SIZE = 4;

  /** The start of the first window that holds a timestamp. */
  long firstStart(long ts) {
    return Math.max(0, ts - sizeMs + advanceMs) / advanceMs * advanceMs;
  }

  long end(long start) {
    return end(start, sizeMs);
  }

  /** No window ends before it begins, wherever its records put it. */
  static long end(long start, long sizeMs) {
    return start > Long.MAX_VALUE - sizeMs ? Long.MAX_VALUE : start + sizeMs;
  }

  @Override
  public long delayMs() {
    return graceMs;
  }

  @Override
  public boolean bucketsByEnd() {
    return false;
  }

  @Override
  public long bucketMs() {
    return Math.max(advanceMs, sizeMs / BUCKETS_PER_SIZE);
  }

  @Override
  public long lastEnd(long lastMs) {
    return end(lastMs / advanceMs * advanceMs);
  }
}
