package org.duolog.kernel.record;

/** A store has reached its limits and is configured not to emit early, so the query fails. */
public final class StoreFullException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StoreFullException(String message) {
    super(message);
  }
}
