package org.duolog.kernel.spec;

import java.time.DayOfWeek;

/** Usage: UNIT ZONE FIRST_DAY OFFSET_MS TIMESTAMP_MS …; prints the bounds of the window of each timestamp. */
public final class CalendarBounds {
  private CalendarBounds() {}

  public static void main(String[] args) {
    for (int i = 0; i < args.length; i += 5) {
      CalendarWindows.Unit unit = CalendarWindows.Unit.valueOf(args[i]);
      DayOfWeek firstDay = DayOfWeek.valueOf(args[i + 2]);
      long offsetMs = Long.parseLong(args[i + 3]);
      Windows windows = new CalendarWindows(unit, args[i + 1], firstDay, 0, offsetMs);
      long start = windows.firstStart(Long.parseLong(args[i + 4]));
      System.out.println(start);
      System.out.println(windows.end(start));
    }
  }
}
