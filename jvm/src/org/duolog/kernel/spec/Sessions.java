package org.duolog.kernel.spec;

/**
 * Windows that end if a key has no record for longer than a gap. Their bounds are the timestamps of
 * their first and last records.
 *
 * <p>Source: Kafka Streams SessionWindows.
 */
public record Sessions(long gapMs, long graceMs) implements Closing {
  private static final long serialVersionUID = 1L;

  /** A session closes when its end is before stream time minus gap and grace period. */
  @Override
  public long delayMs() {
    return gapMs + graceMs + 1;
  }

  @Override
  public boolean bucketsByEnd() {
    return true;
  }

  @Override
  public long bucketMs() {
    return Math.max(1, gapMs);
  }

  @Override
  public long lastEnd(long lastMs) {
    return lastMs;
  }
}
