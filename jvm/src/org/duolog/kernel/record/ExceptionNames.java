package org.duolog.kernel.record;

import java.util.Map;

/**
 * The names of exception classes in the headers of dead letters.
 *
 * <p>Programs that read dead letters compare these names, so they stay as they are when a class is
 * renamed or moves to another package. A class that has never been renamed has no row.
 */
public final class ExceptionNames {
  private static final Map<Class<? extends Exception>, String> WRITTEN =
      Map.of(
          CallFailedException.class, "org.duolog.kernel.CallFailed",
          MisroutedRecordException.class, "org.duolog.kernel.Misplaced",
          RecordException.class, "org.duolog.kernel.RecordException",
          RecordFailedException.class, "org.duolog.kernel.RecordFailed",
          StoreFullException.class, "org.duolog.kernel.StoreFull");

  private ExceptionNames() {}

  /** Returns the name of an exception's class, as dead letters have had it from the beginning. */
  public static String of(Exception exception) {
    Class<?> type = exception.getClass();
    return WRITTEN.getOrDefault(type, type.getName());
  }
}
