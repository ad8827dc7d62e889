package org.duolog.kernel.functions.format.schema;

/**
 * A registry does not answer, or answers nothing that says something about the record. The task
 * fails, so that a record that could be read is never dropped; {@code Program} does not take it for
 * a bad record.
 */
public class RegistryAwayException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  RegistryAwayException(String message, Throwable cause) {
    super(message, cause);
  }
}
