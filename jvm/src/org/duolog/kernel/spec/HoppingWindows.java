package org.duolog.kernel.spec;

/**
 * Windows of time of one size, one beginning every so often since an origin.
 *
 * <p>Source: Kafka Streams TimeWindows, whose origin is 1970.
 *
 * @param originMs the start of the first window, 1970 or before it by less than an advance
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

  /** As Streams' window store does: counted from the start of the last window that has begun. */
  @Override
  public long letGoUntil(long streamTime) {
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

  /** How long behind the origin, as far as can be counted. */
  private long since(long ts) {
    return Math.min(ts, Long.MAX_VALUE + originMs) - originMs;
  }
}
