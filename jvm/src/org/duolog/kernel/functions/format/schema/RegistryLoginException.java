package org.duolog.kernel.functions.format.schema;

/** A registry refuses the user of the query. Asking again does not help. */
public final class RegistryLoginException extends RegistryAwayException {
  private static final long serialVersionUID = 1L;

  RegistryLoginException(String message) {
    super(message, null);
  }
}
