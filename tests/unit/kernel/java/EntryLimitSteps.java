package org.duolog.kernel.metrics;

/** Asks an {@link EntryLimit} at the milliseconds given, as {@code ms} or {@code ms*times}; prints its last answer of each. */
public final class EntryLimitSteps {
  private EntryLimitSteps() {}

  public static void main(String[] asked) {
    EntryLimit limit = new EntryLimit();
    for (String one : asked) {
      String[] parts = one.split("\\*");
      long answer = 0;
      for (int times = parts.length > 1 ? Integer.parseInt(parts[1]) : 1; times > 0; times--) {
        answer = limit.ask(Long.parseLong(parts[0]) * 1_000_000);
      }
      System.out.println(answer);
    }
  }
}
