package org.duolog.kernel.functions.format.protobuf;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Matches fields with columns as {@code duolog.serde.matching} does: by the same name, else without
 * regard to case, where the last of several fields counts.
 */
final class Names {
  private final Set<String> exact;
  private final Map<String, String> loose = new HashMap<>();

  Names(Collection<String> fields) {
    exact = new HashSet<>(fields);
    for (String field : fields) {
      loose.put(field.toUpperCase(Locale.ROOT), field);
    }
  }

  /** Returns the field of a column; null if there is none. */
  String field(String column) {
    return exact.contains(column) ? column : loose.get(column.toUpperCase(Locale.ROOT));
  }
}
