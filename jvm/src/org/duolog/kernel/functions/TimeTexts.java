package org.duolog.kernel.functions;

import java.text.ParsePosition;
import java.text.SimpleDateFormat;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.Locale;
import java.util.TimeZone;
import java.util.concurrent.TimeUnit;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Formats and parses dates, times of day and timestamps with patterns of {@link DateTimeFormatter}.
 *
 * <p>An invalid pattern, zone or text makes the call fail. Parsing ignores case, and takes missing
 * fields from 1970-01-01 00:00:00.
 *
 * <p>Called from code that Spark generates, which uses days since 1970, milliseconds of a day and
 * microseconds since 1970. Threads: any. Source: ksqlDB's documentation of FORMAT_TIMESTAMP,
 * PARSE_TIMESTAMP and the like.
 */
public final class TimeTexts {
  private static final BoundedCache<DateTimeFormatter> WRITERS =
      new BoundedCache<>(pattern -> DateTimeFormatter.ofPattern(pattern, Locale.US));
  private static final BoundedCache<DateTimeFormatter> READERS =
      new BoundedCache<>(
          pattern ->
              new DateTimeFormatterBuilder()
                  .parseCaseInsensitive()
                  .appendPattern(pattern)
                  .toFormatter(Locale.US));

  private static final BoundedCache<SimpleDateFormat> DATE_READERS =
      new BoundedCache<>(TimeTexts::dateReader);
  private static final long DAY_MS = TimeUnit.DAYS.toMillis(1);

  private TimeTexts() {}

  public static UTF8String ofDate(int days, UTF8String pattern) {
    return formatted(LocalDate.ofEpochDay(days), pattern);
  }

  public static UTF8String ofTime(int millis, UTF8String pattern) {
    return formatted(LocalTime.ofNanoOfDay(TimeUnit.MILLISECONDS.toNanos(millis)), pattern);
  }

  public static UTF8String ofTimestamp(long micros, UTF8String pattern, UTF8String zone) {
    return ofInstant(Instant.EPOCH.plus(micros, ChronoUnit.MICROS), pattern, zone);
  }

  public static UTF8String ofMillis(long millis, UTF8String pattern, UTF8String zone) {
    return ofInstant(Instant.ofEpochMilli(millis), pattern, zone);
  }

  /**
   * Parses a date as {@link SimpleDateFormat} does: a day beyond the last one is in the next month,
   * and text after the date is ignored. A pattern with a time of day makes the call fail.
   */
  public static int toDate(UTF8String text, UTF8String pattern) {
    SimpleDateFormat format = (SimpleDateFormat) DATE_READERS.of(pattern.toString()).clone();
    Date found = format.parse(text.toString(), new ParsePosition(0));
    if (found == null || Math.floorMod(found.getTime(), DAY_MS) != 0) {
      throw new IllegalArgumentException(
          "\"" + text + "\" is not a date in the pattern " + pattern);
    }
    return (int) Math.floorDiv(found.getTime(), DAY_MS);
  }

  /** Parses a date; the pattern must contain the whole date, and case matters. */
  public static int toWholeDate(UTF8String text, UTF8String pattern) {
    return (int) LocalDate.parse(text.toString(), writer(pattern)).toEpochDay();
  }

  public static int toTime(UTF8String text, UTF8String pattern) {
    return (int) TimeUnit.NANOSECONDS.toMillis(time(parsed(text, pattern)).toNanoOfDay());
  }

  /**
   * Parses a timestamp, in milliseconds since 1970; the zone is that of the text, or else the given
   * one.
   */
  public static long toMillis(UTF8String text, UTF8String pattern, UTF8String zone) {
    TemporalAccessor found = parsed(text, pattern);
    ZoneId said = found.query(TemporalQueries.zone());
    ZoneId in = said != null ? said : ZoneId.of(zone.toString());
    return ZonedDateTime.of(date(found), time(found), in).toInstant().toEpochMilli();
  }

  /**
   * Returns what the clock in zone `to` shows when the clock in zone `from` shows this timestamp;
   * both are represented as UTC.
   */
  public static long convert(long micros, UTF8String from, UTF8String to) {
    Instant shown = Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    ZonedDateTime there =
        shown
            .atOffset(ZoneOffset.UTC)
            .toLocalDateTime()
            .atZone(ZoneId.of(from.toString()))
            .withZoneSameInstant(ZoneId.of(to.toString()));
    Instant moved = there.toLocalDateTime().toInstant(ZoneOffset.UTC);
    // Not ChronoUnit.MICROS.between, whose nanoseconds overflow after 292 years.
    return Math.addExact(
        Math.multiplyExact(moved.getEpochSecond(), TimeUnit.SECONDS.toMicros(1)),
        TimeUnit.NANOSECONDS.toMicros(moved.getNano()));
  }

  private static UTF8String ofInstant(Instant instant, UTF8String pattern, UTF8String zone) {
    return formatted(instant.atZone(ZoneId.of(zone.toString())), pattern);
  }

  private static UTF8String formatted(TemporalAccessor value, UTF8String pattern) {
    return UTF8String.fromString(writer(pattern).format(value));
  }

  private static TemporalAccessor parsed(UTF8String text, UTF8String pattern) {
    return reader(pattern).parse(text.toString());
  }

  private static LocalDate date(TemporalAccessor found) {
    LocalDate whole = found.query(TemporalQueries.localDate());
    if (whole != null) {
      return whole;
    }
    return LocalDate.of(
        field(found, ChronoField.YEAR, 1970),
        field(found, ChronoField.MONTH_OF_YEAR, 1),
        field(found, ChronoField.DAY_OF_MONTH, 1));
  }

  private static LocalTime time(TemporalAccessor found) {
    LocalTime whole = found.query(TemporalQueries.localTime());
    if (whole != null) {
      return whole;
    }
    return LocalTime.of(
        field(found, ChronoField.HOUR_OF_DAY, 0),
        field(found, ChronoField.MINUTE_OF_HOUR, 0),
        field(found, ChronoField.SECOND_OF_MINUTE, 0),
        field(found, ChronoField.NANO_OF_SECOND, 0));
  }

  private static int field(TemporalAccessor found, ChronoField field, int otherwise) {
    return found.isSupported(field) ? found.get(field) : otherwise;
  }

  private static DateTimeFormatter writer(UTF8String pattern) {
    return WRITERS.of(pattern.toString());
  }

  /** Its calendar is always Gregorian, as that of LocalDate. */
  private static SimpleDateFormat dateReader(String pattern) {
    SimpleDateFormat format = new SimpleDateFormat(pattern, Locale.US);
    GregorianCalendar calendar = new GregorianCalendar(TimeZone.getTimeZone("UTC"), Locale.US);
    calendar.setGregorianChange(new Date(Long.MIN_VALUE));
    format.setCalendar(calendar);
    return format;
  }

  private static DateTimeFormatter reader(UTF8String pattern) {
    return READERS.of(pattern.toString());
  }
}
