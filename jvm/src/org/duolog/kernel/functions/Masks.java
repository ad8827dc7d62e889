package org.duolog.kernel.functions;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * Masks characters of texts; called from code that Spark generates.
 *
 * <pre>
 *   Ab-1, all of it         Xx-n
 *   Ab-1, LEFT 1            Xb-1      KEEP_LEFT 1     Ax-n
 *   Ab-1, RIGHT 1           Ab-n      KEEP_RIGHT 1    Xx-1
 * </pre>
 *
 * <p>A character is a Java char, a unit of UTF-16.
 */
public final class Masks {
  private Masks() {}

  /**
   * Masks characters by kind: each mask is one character, or null to keep the original.
   *
   * @param which LEFT and RIGHT mask {@code count} characters, KEEP_LEFT and KEEP_RIGHT all others
   */
  public static UTF8String mask(
      UTF8String text,
      UTF8String which,
      int count,
      UTF8String upper,
      UTF8String lower,
      UTF8String digit,
      UTF8String other) {
    int[] masks = {single(upper), single(lower), single(digit), single(other)};
    if (count < 0) {
      throw new IllegalArgumentException("the number of characters is " + count);
    }
    if (text == null) {
      return null;
    }
    char[] characters = text.toString().toCharArray();
    int length = characters.length;
    int counted = Math.min(count, length);
    int from =
        switch (which.toString()) {
          case "RIGHT" -> length - counted;
          case "KEEP_LEFT" -> counted;
          default -> 0;
        };
    int to =
        switch (which.toString()) {
          case "LEFT" -> counted;
          case "KEEP_RIGHT" -> length - counted;
          default -> length;
        };
    for (int i = from; i < to; i++) {
      int mask = masks[kind(characters[i])];
      characters[i] = mask < 0 ? characters[i] : (char) mask;
    }
    return UTF8String.fromString(new String(characters));
  }

  private static int kind(char character) {
    return switch (Character.getType(character)) {
      case Character.UPPERCASE_LETTER -> 0;
      case Character.LOWERCASE_LETTER -> 1;
      case Character.DECIMAL_DIGIT_NUMBER -> 2;
      default -> 3;
    };
  }

  private static int single(UTF8String mask) {
    if (mask == null) {
      return -1;
    }
    String value = mask.toString();
    if (value.length() != 1) {
      throw new IllegalArgumentException("a mask must be one character, not \"" + value + "\"");
    }
    return value.charAt(0);
  }
}
