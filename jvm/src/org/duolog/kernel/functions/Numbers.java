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
 * Functions of numbers that Spark's SQL lacks or computes otherwise; called by the code that Spark
 * generates. What has no result fails the call.
 *
 * <p>Source: ksqlDB's documentation of ROUND, TRUNC and GEO_DISTANCE.
 */
public final class Numbers {
  /** No DOUBLE and no DECIMAL has a digit farther from the point. */
  private static final int PLACES_MAX = 1100;

  private static final BigInteger FAR = BigInteger.valueOf(Integer.MAX_VALUE);
  private static final double EARTH_RADIUS_KM = 6371;
  private static final double EARTH_RADIUS_MILES = 3959;
  private static final Set<String> KILOMETRES =
      Set.of("km", "kilometer", "kilometers", "kilometre", "kilometres");
  private static final Set<String> MILES = Set.of("mi", "mile", "miles");

  private Numbers() {}

  /** To the nearest; of two that are equally near to the greater one. */
  public static double round(double value, int places) {
    return rounded(BigDecimal.valueOf(value), places).doubleValue();
  }

  /** As {@link #round}, as a DECIMAL of this size. */
  public static Decimal roundDecimal(Decimal value, int places, int precision, int scale) {
    return fit(rounded(value.toJavaBigDecimal(), places), precision, scale);
  }

  /** Without the digits behind these places. */
  public static double truncate(double value, int places) {
    return at(BigDecimal.valueOf(value), places, RoundingMode.DOWN).doubleValue();
  }

  /** As {@link #truncate}, as a DECIMAL of this size. */
  public static Decimal truncateDecimal(Decimal value, int places, int precision, int scale) {
    return fit(at(value.toJavaBigDecimal(), places, RoundingMode.DOWN), precision, scale);
  }

  /** The elements from the first to the last in steps, which lead there. */
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

  /** A DECIMAL with all digits of its scale, and never an exponent. */
  public static UTF8String text(Decimal value) {
    return UTF8String.fromString(value.toJavaBigDecimal().toPlainString());
  }

  /** The logarithm to a base; NaN to a base of 0 or 1, which has none. */
  public static double log(double base, double value) {
    return base == 0 || base == 1 ? Double.NaN : Math.log(value) / Math.log(base);
  }

  /** How far it is between two places on the globe, along its surface. */
  public static double distance(
      double latitude1, double longitude1, double latitude2, double longitude2, UTF8String unit) {
    String name = unit.toString().toLowerCase(Locale.ROOT);
    double radius;
    if (KILOMETRES.contains(name)) {
      radius = EARTH_RADIUS_KM;
    } else if (MILES.contains(name)) {
      radius = EARTH_RADIUS_MILES;
    } else {
      throw new IllegalArgumentException("no unit of distance: " + unit);
    }
    if (Math.max(Math.abs(latitude1), Math.abs(latitude2)) > 90
        || Math.max(Math.abs(longitude1), Math.abs(longitude2)) > 180) {
      throw new IllegalArgumentException("latitudes go from -90 to 90, longitudes from -180 to 180");
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

  /** A place beyond all digits changes nothing, or leaves 0, and needs no digits of its own. */
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
