package org.duolog.kernel.record;

/**
 * An expression cannot be computed for a record, and the record is the cause.
 *
 * <p>Only {@code Program} throws it, so a broken store or a cancelled task is never taken for a bad
 * record. It has no stack trace of its own; its cause has one.
 */
public final class RecordException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public RecordException(Exception cause) {
    super(cause.getMessage(), cause, false, false);
  }
}
