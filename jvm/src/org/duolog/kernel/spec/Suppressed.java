package org.duolog.kernel.spec;

/**
 * Rows that wait until some time after the end of their window, or after a time in their key.
 *
 * <p>Source: Kafka Streams SuppressedInternal.
 */
public record Suppressed(long delayMs, long bucketMs) implements Closing {
  private static final long serialVersionUID = 1L;

  @Override
  public boolean bucketsByEnd() {
    return true;
  }

  @Override
  public long lastEnd(long lastMs) {
    return lastMs;
  }
}
