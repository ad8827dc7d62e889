package org.duolog.kernel.functions.format;

import java.nio.BufferUnderflowException;

/** Texts for people in place of exceptions that damaged bytes and schemas cause. */
public final class Reasons {
  private Reasons() {}

  /** Returns why something cannot be read or written, in one line, without names of Java. */
  public static String of(Throwable cause) {
    if (cause instanceof StackOverflowError) {
      return "it is nested too deeply";
    }
    if (cause instanceof IndexOutOfBoundsException
        || cause instanceof NegativeArraySizeException
        || cause instanceof BufferUnderflowException) {
      return "it ends too early, or has a length that cannot be";
    }
    String message = cause.getMessage();
    if (cause instanceof NullPointerException
        || cause instanceof ClassCastException
        || message == null
        || message.isBlank()) {
      return "a part of it is missing or has another type than expected";
    }
    String line = message.strip().lines().findFirst().orElseThrow();
    return line.replaceFirst("^(?:[\\w.$]+(?:Exception|Error): )+", "");
  }
}
