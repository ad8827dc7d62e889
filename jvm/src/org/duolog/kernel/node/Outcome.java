package org.duolog.kernel.node;

/**
 * The outcome in a response to a subscription, sent as a number.
 *
 * <pre>
 *   GONE             the subscribing row is gone, or has no foreign key any more
 *   MISSING          there is no row with its foreign key
 *   STILL_MISSING    the same, and there was none before, as far as the subscriber knew
 *   THERE            the response includes the row
 * </pre>
 */
enum Outcome {
  GONE,
  MISSING,
  STILL_MISSING,
  THERE;

  private static final Outcome[] ALL = values();

  static Outcome of(int number) {
    return ALL[number];
  }
}
