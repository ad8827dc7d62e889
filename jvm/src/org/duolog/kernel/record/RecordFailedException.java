package org.duolog.kernel.record;

/**
 * A record makes the query fail. The message names the record, and the engine shows it unchanged.
 */
public final class RecordFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public RecordFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
