package org.duolog.kernel;

/** A store was told to hold no more, and not to let go of anything early: the query ends. */
final class StoreFull extends RuntimeException {
  private static final long serialVersionUID = 1L;

  StoreFull(String message) {
    super(message);
  }
}
