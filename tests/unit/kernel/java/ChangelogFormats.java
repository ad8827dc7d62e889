package org.duolog.kernel.store;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.Headers;

/**
 * Prints keys and headers of changelogs as hexadecimal digits, then what it reads from the keys in
 * its arguments: the number under which Spark keeps the entry, and the entry's key.
 */
public final class ChangelogFormats {
  private static final Grouping GROUPING = new Grouping(1, 2, 1);
  private static final byte[] KEY = {1, 2};
  private static final long BUCKET = 5;

  private ChangelogFormats() {}

  public static void main(String[] keys) {
    HexFormat hex = HexFormat.of();
    long task = GROUPING.of(0, 1);
    System.out.println(hex.formatHex(Changelog.key(task, KEY)));
    System.out.println(hex.formatHex(Changelog.key(GROUPING.bucket(task, BUCKET), KEY)));
    Headers.decode(Changelog.header(3, 17))
        .forEach(
            header ->
                System.out.println(
                    hex.formatHex(header.key().getBytes(StandardCharsets.UTF_8))
                        + " "
                        + hex.formatHex(header.value())));
    for (String logged : keys) {
      var key = Changelog.StateKey.of(hex.parseHex(logged), GROUPING, task);
      boolean isOfTask = key.number() == task;
      boolean isOfBucket = key.number() == GROUPING.bucket(task, BUCKET);
      String place = isOfTask ? "task" : isOfBucket ? "bucket" : "?";
      System.out.println(place + " " + hex.formatHex(key.key()));
    }
  }
}
