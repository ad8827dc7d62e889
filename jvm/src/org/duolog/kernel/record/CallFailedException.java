package org.duolog.kernel.record;

/** A function of another process failed for a record; the message says how, in that one's words. */
public final class CallFailedException extends Exception {
  private static final long serialVersionUID = 1L;

  public CallFailedException(String message) {
    super(message);
  }
}
