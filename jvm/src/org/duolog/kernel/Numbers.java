package org.duolog.kernel;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions of numbers that Spark's SQL lacks or computes otherwise; called by the code that Spark
 * generates. What has no result fails the call.
 *
 * <p>Source: ksqlDB's documentation of ROUND, TRUNC and GEO_DISTANCE.
 */
public final class Numbers {
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
    return BigDecimal.valueOf(value).setScale(places, RoundingMode.DOWN).doubleValue();
  }

  /** As {@link #truncate}, as a DECIMAL of this size. */
  public static Decimal truncateDecimal(Decimal value, int places, int precision, int scale) {
    BigDecimal cut = value.toJavaBigDecimal().setScale(places, RoundingMode.DOWN);
    return fit(cut, precision, scale);
  }

  /** The logarithm to a base. */
  public static double log(double base, double value) {
    return Math.log(value) / Math.log(base);
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
    return value.setScale(places, mode);
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
