package org.duolog.kernel.spec;

/**
 * Windows whose rows are kept longer, for look-ups.
 *
 * <p>Source: Kafka Streams Materialized.withRetention.
 *
 * @param longerMs how much longer
 */
record Retained(Closing of, long longerMs) implements Closing {
  private static final long serialVersionUID = 1L;

  static Closing of(Closing windows, long longerMs) {
    return longerMs == 0 ? windows : new Retained(windows, longerMs);
  }

  @Override
  public long delayMs() {
    return of.delayMs();
  }

  @Override
  public long expiredUntil(long streamTime) {
    return of.expiredUntil(streamTime) - longerMs;
  }

  @Override
  public boolean bucketsByEnd() {
    return of.bucketsByEnd();
  }

  @Override
  public long bucketMs() {
    return of.bucketMs();
  }

  @Override
  public long firstEnd(long firstMs) {
    return of.firstEnd(firstMs);
  }

  @Override
  public long lastEnd(long lastMs) {
    return of.lastEnd(lastMs);
  }
}
