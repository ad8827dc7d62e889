package org.duolog.kernel.spec;

/**
 * One window that starts at a point in time and never ends. Earlier records are not in it.
 *
 * <p>Source: Kafka Streams UnlimitedWindows.
 */
record UnlimitedWindows(long startMs) implements Windows {
  private static final long serialVersionUID = 1L;

  @Override
  public long firstStart(long ts) {
    return startMs;
  }

  @Override
  public long lastStart(long ts) {
    return startMs;
  }

  @Override
  public long nextStart(long start) {
    return start;
  }

  @Override
  public long end(long start) {
    return Long.MAX_VALUE;
  }

  @Override
  public long delayMs() {
    return 0;
  }

  @Override
  public long bucketMs() {
    return Long.MAX_VALUE;
  }

  @Override
  public long lastEnd(long lastMs) {
    return Long.MAX_VALUE;
  }
}
