package org.duolog.kernel.record;

/** A function in another process failed for a record. The message is that of the function. */
public final class CallFailedException extends Exception {
  private static final long serialVersionUID = 1L;

  public CallFailedException(String message) {
    super(message);
  }
}
