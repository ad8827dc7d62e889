package org.duolog.kernel.spec;

import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.time.temporal.IsoFields;
import java.time.temporal.TemporalAdjusters;

/**
 * Consecutive days, weeks, months, quarters or years of a time zone.
 *
 * <p>A window starts with the first moment of its first date, whatever the changes of clocks (some
 * days have 23 hours and some 25), plus its offset by the local clock. A date that a zone has
 * skipped has no window. If clocks are set back across the start, the repeated time belongs to the
 * later date; if they are set forward across it, the window starts after the gap.
 * {@code duolog.plan.windows.calendar_windows} is the same in Python.
 *
 * @param unit day, week, month, quarter or year
 * @param firstDay first day of a week: monday, …, sunday
 * @param offsetMs less than the length of the shortest window
 */
record CalendarWindows(Unit unit, String zone, DayOfWeek firstDay, long graceMs, long offsetMs)
    implements Windows {
  private static final long serialVersionUID = 1L;
  private static final long DAY_MS = 86_400_000;
  private static final long SECOND_MS = 1000;

  /** The length of a window; the number of days is that of a bucket. */
  enum Unit {
    DAY(1),
    WEEK(7),
    MONTH(30),
    QUARTER(91),
    YEAR(365);

    private final int days;

    Unit(int days) {
      this.days = days;
    }
  }

  @Override
  public long firstStart(long ts) {
    ZoneId in = ZoneId.of(zone);
    LocalDate first = first(date(ts, in));
    long start = at(first, in);
    if (start > ts) { // clocks were set forward across its start
      first = first(first.minusDays(1));
      start = at(first, in);
    }
    long following = at(following(first), in);
    return ts >= following ? following : start;
  }

  @Override
  public long lastStart(long ts) {
    return firstStart(ts);
  }

  @Override
  public long nextStart(long start) {
    return end(start);
  }

  @Override
  public long end(long start) {
    ZoneId in = ZoneId.of(zone);
    LocalDate date = first(date(start, in));
    long end = start;
    while (end <= start && end < Long.MAX_VALUE) {
      date = following(date);
      end = at(date, in);
    }
    return end;
  }

  @Override
  public long delayMs() {
    return graceMs;
  }

  @Override
  public long expiredUntil(long streamTime) {
    return firstStart(streamTime) - graceMs;
  }

  @Override
  public long bucketMs() {
    return unit.days * DAY_MS;
  }

  @Override
  public long lastEnd(long lastMs) {
    return end(firstStart(lastMs));
  }

  /** Returns the first date of the window that contains a date. */
  private LocalDate first(LocalDate date) {
    return switch (unit) {
      case DAY -> date;
      case WEEK -> date.with(TemporalAdjusters.previousOrSame(firstDay));
      case MONTH -> date.withDayOfMonth(1);
      case QUARTER -> date.with(IsoFields.DAY_OF_QUARTER, 1);
      case YEAR -> date.withDayOfYear(1);
    };
  }

  /** Returns the first date of the window after the one that starts with a date. */
  private LocalDate following(LocalDate first) {
    return switch (unit) {
      case DAY -> first.plusDays(1);
      case WEEK -> first.plusWeeks(1);
      case MONTH -> first.plusMonths(1);
      case QUARTER -> first.plusMonths(3);
      case YEAR -> first.plusYears(1);
    };
  }

  /** Returns the last date that has started by the local clock, shifted by the offset. */
  private LocalDate date(long ts, ZoneId zone) {
    LocalDateTime local = Instant.ofEpochMilli(ts).atZone(zone).toLocalDateTime();
    return local.minus(offsetMs, ChronoUnit.MILLIS).toLocalDate();
  }

  /** Returns the moment when the window with this first date starts. */
  private long at(LocalDate date, ZoneId zone) {
    LocalDateTime local = date.atStartOfDay().plus(offsetMs, ChronoUnit.MILLIS);
    Instant at = local.atZone(zone).toInstant();
    long seconds = at.getEpochSecond();
    return seconds >= Long.MAX_VALUE / SECOND_MS ? Long.MAX_VALUE : at.toEpochMilli();
  }
}
