package org.duolog.kernel.functions.format.schema;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/** Matches the fields of a schema with columns, as {@code duolog.serde.matching} does. */
public final class Matching {
  private Matching() {}

  /**
   * Returns the field for each column: by exact name, else the last one of that name in upper case;
   * null if there is none.
   */
  public static String[] fields(List<String> names, StructType columns) {
    Map<String, String> loosely = new HashMap<>();
    for (String name : names) {
      loosely.put(name.toUpperCase(Locale.ROOT), name);
    }
    String[] found = columns.fieldNames();
    for (int i = 0; i < found.length; i++) {
      if (!names.contains(found[i])) {
        found[i] = loosely.get(found[i].toUpperCase(Locale.ROOT));
      }
    }
    return found;
  }
}
