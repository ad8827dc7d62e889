package org.duolog.kernel.functions;

import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Limits the size of the value that one function call may create. Without a limit, one record with
 * a large argument could exhaust the memory of the JVM, and end all queries. A call beyond the
 * limit fails, so its result is null.
 *
 * <p>{@code duolog.plan.sql.limits} has the same limits.
 */
public final class Limits {
  /** Characters of a text, or bytes. */
  static final int LENGTH_MAX = 16 << 20;

  /** Elements of an array, or entries of a map. */
  static final int ELEMENTS_MAX = 1 << 20;

  private Limits() {}

  static int ensureLength(long length) {
    if (length > LENGTH_MAX) {
      throw new IllegalArgumentException(
          "a value of length "
              + length
              + " is too large: a function may create at most "
              + LENGTH_MAX);
    }
    return (int) length;
  }

  static int ensureElements(long elements) {
    if (elements > ELEMENTS_MAX) {
      throw new IllegalArgumentException(
          elements + " elements are too many: a function may create at most " + ELEMENTS_MAX);
    }
    return (int) elements;
  }

  public static UTF8String bounded(UTF8String text) {
    ensureLength(text.numBytes());
    return text;
  }

  public static byte[] bounded(byte[] bytes) {
    ensureLength(bytes.length);
    return bytes;
  }

  public static ArrayData bounded(ArrayData array) {
    ensureElements(array.numElements());
    return array;
  }

  public static MapData bounded(MapData map) {
    ensureElements(map.numElements());
    return map;
  }
}
