package org.duolog.kernel.store;

/**
 * A changelog has entries of later epochs than the commit topic can have allowed, so that topic has
 * lost its last records.
 */
final class CommitsLostException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CommitsLostException(String changelog, int partition, long offset) {
    super(
        String.format(
            "its commit topic has lost records: changelog \"%s\" partition %d has a later epoch at"
                + " offset %d",
            changelog, partition, offset));
  }
}
