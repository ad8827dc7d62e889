package org.duolog.kernel.task;

import java.util.ArrayList;
import java.util.List;

/**
 * Reasons why calls in expressions have given null for the record that this thread processes. An expression can return
 * only a value, so its reason waits here until the task reports it.
 *
 * <p>Threads: any; each has its own.
 */
public final class Notes {
  private static final ThreadLocal<List<String>> OF_THREAD = ThreadLocal.withInitial(ArrayList::new);

  private Notes() {}

  public static void add(String reason) {
    OF_THREAD.get().add(reason);
  }

  /** Returns the reasons since the last call, and forgets them. */
  static List<String> take() {
    List<String> found = OF_THREAD.get();
    if (!found.isEmpty()) {
      OF_THREAD.set(new ArrayList<>());
    }
    return found;
  }
}
