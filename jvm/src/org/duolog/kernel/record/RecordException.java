package org.duolog.kernel.record;

/**
 * An expression cannot be computed for a record: the record's fault, and nobody else's.
 *
 * <p>Only {@code Program} throws it, so that a broken store or a task that is stopped is never taken
 * for a bad record. Its own stack says nothing: the cause's does.
 */
public final class RecordException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public RecordException(Exception cause) {
    super(cause.getMessage(), cause, false, false);
  }
}
