package org.duolog.kernel.record;

/** A record ends the query; the message names it. The engine shows it as it is. */
public final class RecordFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public RecordFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
