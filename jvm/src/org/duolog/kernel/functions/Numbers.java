package org.duolog.kernel.functions;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions of numbers that Spark's SQL lacks or defines differently; called from code that Spark
 * generates. A call without a result fails.
 *
 * <p>Source: ksqlDB's documentation of ROUND, TRUNC and GEO_DISTANCE.
 */
public final class Numbers {
  /** Larger than the number of decimal places of any DOUBLE or DECIMAL. */
  private static final int PLACES_MAX = 1100;

  private static final BigInteger FAR = BigInteger.valueOf(Integer.MAX_VALUE);
  private static final double EARTH_RADIUS_KM = 6371;
  private static final double EARTH_RADIUS_MILES = 3959;
  private static final Set<String> KILOMETRES =
      Set.of("km", "kilometer", "kilometers", "kilometre", "kilometres");
  private static final Set<String> MILES = Set.of("mi", "mile", "miles");

  private Numbers() {}

  /** Rounds to the nearest number; halves are rounded up. */
  public static double round(double value, int places) {
    return rounded(BigDecimal.valueOf(value), places).doubleValue();
  }

  /** The same as {@link #round}, for a DECIMAL of this size. */
  public static Decimal roundDecimal(Decimal value, int places, int precision, int scale) {
    return fit(rounded(value.toJavaBigDecimal(), places), precision, scale);
  }

  /** Drops the digits after these places. */
  public static double truncate(double value, int places) {
    return at(BigDecimal.valueOf(value), places, RoundingMode.DOWN).doubleValue();
  }

  /** The same as {@link #truncate}, for a DECIMAL of this size. */
  public static Decimal truncateDecimal(Decimal value, int places, int precision, int scale) {
    return fit(at(value.toJavaBigDecimal(), places, RoundingMode.DOWN), precision, scale);
  }

  /** Returns the numbers from the first to the last; the step must have the right sign. */
  public static ArrayData series(long first, long last, long step) {
    BigInteger way = BigInteger.valueOf(last).subtract(BigInteger.valueOf(first));
    BigInteger steps = way.divide(BigInteger.valueOf(step));
    int count = Limits.ensureElements(steps.min(FAR).longValue() + 1);
    long[] series = new long[count];
    for (int i = 0; i < count; i++) {
      series[i] = first + i * step;
    }
    return UnsafeArrayData.fromPrimitiveArray(series);
  }

  /** Renders a DECIMAL with all digits of its scale, without an exponent. */
  public static UTF8String text(Decimal value) {
    return UTF8String.fromString(value.toJavaBigDecimal().toPlainString());
  }

  /** Returns a logarithm; NaN for base 0 or 1. */
  public static double log(double base, double value) {
    return base == 0 || base == 1 ? Double.NaN : Math.log(value) / Math.log(base);
  }

  /** Returns the distance between two places along the surface of the earth. */
  public static double distance(
      double latitude1, double longitude1, double latitude2, double longitude2, UTF8String unit) {
    String name = unit.toString().toLowerCase(Locale.ROOT);
    double radius;
    if (KILOMETRES.contains(name)) {
      radius = EARTH_RADIUS_KM;
    } else if (MILES.contains(name)) {
      radius = EARTH_RADIUS_MILES;
    } else {
      throw new IllegalArgumentException("unknown unit of distance: " + unit);
    }
    if (Math.max(Math.abs(latitude1), Math.abs(latitude2)) > 90
        || Math.max(Math.abs(longitude1), Math.abs(longitude2)) > 180) {
      throw new IllegalArgumentException(
          "latitudes must be from -90 to 90, longitudes from -180 to 180");
    }
    double phi1 = Math.toRadians(latitude1);
    double phi2 = Math.toRadians(latitude2);
    double south = Math.sin((phi2 - phi1) / 2);
    double east = Math.sin(Math.toRadians(longitude2 - longitude1) / 2);
    // The haversine formula.
    double a = south * south + east * east * Math.cos(phi1) * Math.cos(phi2);
    return 2 * radius * Math.asin(Math.sqrt(a));
  }

  private static BigDecimal rounded(BigDecimal value, int places) {
    RoundingMode mode = value.signum() < 0 ? RoundingMode.HALF_DOWN : RoundingMode.HALF_UP;
    return at(value, places, mode);
  }

  /** A place beyond all digits leaves the number unchanged, or 0, and must not create digits. */
  private static BigDecimal at(BigDecimal value, int places, RoundingMode mode) {
    return value.setScale(Math.max(-PLACES_MAX, Math.min(PLACES_MAX, places)), mode);
  }

  private static Decimal fit(BigDecimal value, int precision, int scale) {
    BigDecimal scaled = value.setScale(scale, RoundingMode.HALF_UP);
    if (scaled.precision() > precision) {
      throw new ArithmeticException(
          String.format("%s does not fit DECIMAL(%d,%d)", scaled, precision, scale));
    }
    return Decimal.apply(scaled, precision, scale);
  }
}
