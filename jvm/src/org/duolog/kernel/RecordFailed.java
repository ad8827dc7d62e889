package org.duolog.kernel;

/** A record ends the query; the message names it. The engine shows it as it is. */
final class RecordFailed extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RecordFailed(String message, Throwable cause) {
    super(message, cause);
  }
}
