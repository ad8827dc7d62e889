package org.duolog.kernel.commit;

/** An epoch cannot be committed as it is, and is to be computed again: nothing of it was seen by readers of committed records. */
public final class EpochBrokenException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public EpochBrokenException(String message, Throwable cause) {
    super(message, cause);
  }
}
