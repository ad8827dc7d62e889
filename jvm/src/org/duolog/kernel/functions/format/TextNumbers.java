package org.duolog.kernel.functions.format;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * Parses numbers in texts as ksqlDB does, at a cost that is bounded by the length of the text.
 *
 * <p>Other texts, and numbers out of range, cause a NumberFormatException. Source: ksqlDB, where a
 * DECIMAL is never rounded and an integer drops decimal places.
 */
public final class TextNumbers {
  /** Longer numbers are rejected: the cost grows faster than the length. */
  private static final int LENGTH_MAX = 1000;

  private static final int EXPONENT_MAX = 1_000_000_000;
  private static final int LONG_DIGITS = 19;
  private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]+");
  private static final Pattern DECIMAL =
      Pattern.compile("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?");

  private TextNumbers() {}

  /** Parses an integer: digits only. */
  static long integer(String text, long min, long max) {
    if (text.length() > LENGTH_MAX || !INTEGER.matcher(text).matches()) {
      throw new NumberFormatException(text);
    }
    return within(new BigInteger(text.startsWith("+") ? text.substring(1) : text), min, max);
  }

  /** Parses any number and drops its decimal places. */
  static long truncated(String text, long min, long max) {
    BigDecimal number = number(text);
    long magnitude = magnitude(number);
    if (number.signum() == 0 || magnitude <= 0) {
      return 0;
    }
    if (magnitude > LONG_DIGITS) {
      throw new NumberFormatException(text);
    }
    return within(number.toBigInteger(), min, max);
  }

  /** Blanks around it are ignored, as in {@link Double#parseDouble}. */
  static double real(String text) {
    String trimmed = text.length() > LENGTH_MAX ? text : text.trim();
    switch (trimmed) {
      case "NaN":
        return Double.NaN;
      case "Infinity":
        return Double.POSITIVE_INFINITY;
      case "-Infinity":
        return Double.NEGATIVE_INFINITY;
      default:
        ensureNumber(trimmed);
        return Double.parseDouble(trimmed);
    }
  }

  /** Parses a number that fits the type exactly, without rounding. */
  public static Decimal decimal(String text, DecimalType type) {
    BigDecimal number = number(text);
    boolean isZero = number.signum() == 0;
    long magnitude = magnitude(number);
    if (!isZero && (magnitude > type.precision() - type.scale() || magnitude < -type.scale())) {
      throw new NumberFormatException(text);
    }
    try {
      BigDecimal scaled =
          (isZero ? BigDecimal.ZERO : number).setScale(type.scale(), RoundingMode.UNNECESSARY);
      return Decimal.apply(scaled, type.precision(), type.scale());
    } catch (ArithmeticException e) {
      throw new NumberFormatException(text);
    }
  }

  /** Renders the text of any JSON number as Java renders a BigDecimal. */
  static String rendered(String text) {
    return number(text).toString();
  }

  private static BigDecimal number(String text) {
    ensureNumber(text);
    BigDecimal number = new BigDecimal(text);
    if (Math.abs((long) number.scale()) > EXPONENT_MAX) {
      throw new NumberFormatException(text);
    }
    return number;
  }

  /** Returns the position of the first digit relative to the decimal point. */
  private static long magnitude(BigDecimal number) {
    return (long) number.precision() - number.scale();
  }

  private static void ensureNumber(String text) {
    if (text.length() > LENGTH_MAX || !DECIMAL.matcher(text).matches()) {
      throw new NumberFormatException(text);
    }
  }

  private static long within(BigInteger number, long min, long max) {
    if (number.bitLength() > Long.SIZE - 1) {
      throw new NumberFormatException(number.toString());
    }
    long value = number.longValue();
    if (value < min || value > max) {
      throw new NumberFormatException(number.toString());
    }
    return value;
  }
}
