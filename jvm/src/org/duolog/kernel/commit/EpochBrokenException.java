package org.duolog.kernel.commit;

/**
 * An epoch cannot be committed and must be computed again. Readers of committed records have seen
 * nothing of it.
 */
public final class EpochBrokenException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public EpochBrokenException(String message, Throwable cause) {
    super(message, cause);
  }
}
