package org.duolog.kernel.functions;

import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.functions.format.JsonValue;
import org.duolog.kernel.functions.format.KsqlJson;

/**
 * Adds a number of named units (DAY, DAYS, …) to dates, times of day and timestamps.
 *
 * <p>Called from code that Spark generates, which uses days since 1970, milliseconds of a day and
 * microseconds since 1970. Source: ksqlDB's documentation of DATEADD, TIMEADD and TIMESTAMPADD.
 */
public final class TimeUnits {
  private static final long MICROS = 1000;
  private static final long DAY_MS = TimeUnit.DAYS.toMillis(1);

  private TimeUnits() {}

  /** Adds whole days; a fraction of a day is truncated towards 1970. */
  public static int addToDate(UTF8String unit, int count, int days) {
    ChronoUnit named = unit(unit);
    if (named.isTimeBased() || named == ChronoUnit.DAYS) {
      return (int) ((days * DAY_MS + millis(named, count)) / DAY_MS);
    }
    return (int) LocalDate.ofEpochDay(days).plus(count, named).toEpochDay();
  }

  /** Wraps around at midnight. Units longer than a day have no effect. */
  public static int addToTime(UTF8String unit, int count, int millis) {
    ChronoUnit named = unit(unit);
    long added = named.isTimeBased() ? millis(named, count) : 0;
    return (int) Math.floorMod(millis + added, DAY_MS);
  }

  public static long addToTimestamp(UTF8String unit, int count, long micros) {
    ChronoUnit named = unit(unit);
    if (named.isTimeBased() || named == ChronoUnit.DAYS) {
      return micros + millis(named, count) * MICROS;
    }
    long dayMicros = DAY_MS * MICROS;
    LocalDate day = LocalDate.ofEpochDay(Math.floorDiv(micros, dayMicros)).plus(count, named);
    return day.toEpochDay() * dayMicros + Math.floorMod(micros, dayMicros);
  }

  /** Accepts the years 1 to 9999, as the serdes do for dates; other dates fail. */
  public static int nearDate(int days) {
    if (days < KsqlJson.DAYS_MIN || days > KsqlJson.DAYS_MAX) {
      throw new IllegalArgumentException("a date is outside of the years 1 to 9999: day " + days);
    }
    return days;
  }

  /** Accepts the years 1 to 9999, as the serdes do for timestamps; other timestamps fail. */
  public static long nearTimestamp(long micros) {
    long millis = Math.floorDiv(micros, MICROS);
    if (millis < JsonValue.TIMESTAMP_MS_MIN || millis > JsonValue.TIMESTAMP_MS_MAX) {
      throw new IllegalArgumentException(
          "a timestamp is outside of the years 1 to 9999: " + millis + " ms");
    }
    return micros;
  }

  private static long millis(ChronoUnit unit, int count) {
    return unit.getDuration().toMillis() * count;
  }

  private static ChronoUnit unit(UTF8String name) {
    String unit = name.toString().toUpperCase(Locale.ROOT);
    String plural = unit.endsWith("S") ? unit : unit + "S";
    return plural.equals("MILLISECONDS") ? ChronoUnit.MILLIS : ChronoUnit.valueOf(plural);
  }
}
