package org.duolog.kernel.commit;

/** Another process writes under this application's name: it has fenced the transactions of this one. */
final class TakenOverException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TakenOverException(String message, Throwable cause) {
    super(message, cause);
  }
}
