package org.duolog.kernel.state;

import java.nio.charset.StandardCharsets;
import org.duolog.kernel.record.Grouping;

/**
 * Prints for each of three tasks whether a row with a record key is in the task of that key; without Spark.
 *
 * <p>Usage: KEY…; {@code -} is a null key.
 */
public final class KeyTasks {
  private static final int TASKS = 3;

  private KeyTasks() {}

  public static void main(String[] args) {
    Grouping grouping = new Grouping(1, TASKS, 1);
    for (String key : args) {
      byte[] bytes = key.equals("-") ? null : key.getBytes(StandardCharsets.UTF_8);
      int places = 0;
      for (int task = 0; task < TASKS; task++) {
        places += StateRepartitioner.isInItsTask(grouping.of(0, task), bytes, TASKS) ? 1 : 0;
      }
      System.out.println(places);
    }
  }
}
