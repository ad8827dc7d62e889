package org.duolog.kernel.spec;

/**
 * Windows of one size that start at a fixed interval since an origin.
 *
 * <p>Source: Kafka Streams TimeWindows, whose origin is 1970.
 *
 * @param originMs the start of the first window, at most one advance before 1970
 */
public record HoppingWindows(long sizeMs, long advanceMs, long originMs, long graceMs)
    implements Windows {
  private static final long serialVersionUID = 1L;
  private static final int BUCKETS_PER_SIZE = 4;

  @Override
  public long firstStart(long ts) {
    return Math.max(0, since(ts) - sizeMs + advanceMs) / advanceMs * advanceMs + originMs;
  }

  @Override
  public long nextStart(long start) {
    return start + advanceMs;
  }

  @Override
  public long end(long start) {
    return Windows.end(start, sizeMs);
  }

  @Override
  public long delayMs() {
    return graceMs;
  }

  /**
   * As the window store of Kafka Streams does: counted from the start of the last window that has
   * started.
   */
  @Override
  public long expiredUntil(long streamTime) {
    return lastStart(streamTime) - graceMs;
  }

  @Override
  public long bucketMs() {
    return Math.max(advanceMs, sizeMs / BUCKETS_PER_SIZE);
  }

  @Override
  public long firstEnd(long firstMs) {
    return end(firstMs);
  }

  @Override
  public long lastEnd(long lastMs) {
    return end(lastStart(lastMs));
  }

  @Override
  public long lastStart(long ts) {
    return Math.floorDiv(since(ts), advanceMs) * advanceMs + originMs;
  }

  /** Returns the time since the origin, without overflow. */
  private long since(long ts) {
    return Math.min(ts, Long.MAX_VALUE + originMs) - originMs;
  }
}
