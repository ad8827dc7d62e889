package org.duolog.kernel.commit;

/** Another process writes under this application's name and has fenced its transactions. */
final class TakenOverException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TakenOverException(String message, Throwable cause) {
    super(message, cause);
  }
}
