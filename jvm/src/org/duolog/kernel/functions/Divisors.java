package org.duolog.kernel.functions;

import org.apache.spark.sql.types.Decimal;

/**
 * The divisor of an operator: null, and a note for the processing log, if it is zero. Spark's
 * operators return null for both and report neither. A DOUBLE needs none: it has infinities.
 *
 * <p>Called from code that Spark generates. Threads: any.
 */
public final class Divisors {
  private static final String BY_ZERO = "division by zero";

  private Divisors() {}

  public static Integer divisor(int value) {
    if (value == 0) {
      CallNotes.add(BY_ZERO);
      return null;
    }
    return value;
  }

  public static Long divisor(long value) {
    if (value == 0) {
      CallNotes.add(BY_ZERO);
      return null;
    }
    return value;
  }

  public static Decimal divisor(Decimal value) {
    if (value.isZero()) {
      CallNotes.add(BY_ZERO);
      return null;
    }
    return value;
  }
}
