package org.duolog.kernel.record;

/** A store was told to hold no more, and not to let go of anything early: the query ends. */
public final class StoreFullException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StoreFullException(String message) {
    super(message);
  }
}
