package org.duolog.kernel;

/** A function of another process failed for a record; the message says how, in that one's words. */
final class CallFailed extends Exception {
  private static final long serialVersionUID = 1L;

  CallFailed(String message) {
    super(message);
  }
}
