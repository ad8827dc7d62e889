package org.duolog.kernel.node;

/**
 * What an answer to a subscription says. It travels as a number.
 *
 * <pre>
 *   GONE             the row that asked is gone, or has no foreign key any more
 *   MISSING          there is no row with its foreign key
 *   STILL_MISSING    the same, and there was none before, as far as who asked knew
 *   THERE            the row comes along
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
