package org.duolog.kernel.functions;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions of texts that Spark's SQL lacks, or defines differently; called from code that Spark
 * generates.
 *
 * <p>A character is a Java char, a unit of UTF-16, and positions start at 1. Arguments are not null
 * unless stated otherwise. Source: ksqlDB's documentation of its functions.
 */
public final class Texts {
  private static final int ALL = -1;
  private static final Pattern ESCAPES = Pattern.compile("(\\\\u[0-9a-fA-F]{4})+");

  private Texts() {}

  /** Splits at a separator, keeping empty parts; an empty separator does not split. */
  public static ArrayData split(UTF8String text, UTF8String separator) {
    return new GenericArrayData((Object[]) text.splitSQL(separator, ALL));
  }

  /** Splits at a separator, keeping empty parts; an empty separator splits into characters. */
  public static ArrayData parts(UTF8String text, UTF8String separator) {
    return separator.numBytes() > 0 ? split(text, separator) : characters(text);
  }

  /** Splits into characters, keeping surrogate pairs together; an empty text is its own part. */
  static ArrayData characters(UTF8String text) {
    if (text.numBytes() == 0) {
      return new GenericArrayData(new Object[] {text});
    }
    return new GenericArrayData(
        text.toString().codePoints().mapToObj(Texts::ofCodePoint).toArray());
  }

  /**
   * Parses the entries of a text by key, with the last value of a key; ignores parts that are not
   * entries.
   */
  public static MapData entries(UTF8String text, UTF8String between, UTF8String inside) {
    if (between.numBytes() == 0 || inside.numBytes() == 0) {
      return null;
    }
    Map<UTF8String, UTF8String> entries = new LinkedHashMap<>();
    for (UTF8String entry : text.splitSQL(between, ALL)) {
      UTF8String[] parts = entry.splitSQL(inside, ALL);
      if (parts.length > 1) {
        entries.put(parts[0], parts[1]);
      }
    }
    return new ArrayBasedMapData(
        new GenericArrayData(entries.keySet().toArray()),
        new GenericArrayData(entries.values().toArray()));
  }

  public static int length(UTF8String text) {
    int length = 0;
    for (int i = 0; i < text.numBytes(); i++) {
      byte unit = text.getByte(i);
      boolean first = (unit & 0xC0) != 0x80;
      boolean ofFour = (unit & 0xF8) == 0xF0;
      length += (first ? 1 : 0) + (ofFour ? 1 : 0);
    }
    return length;
  }

  /** Returns the part from a position; a negative position counts from the end. */
  public static UTF8String substring(UTF8String text, int position, int length) {
    String value = text.toString();
    int from = start(value.length(), position);
    return UTF8String.fromString(value.substring(from, end(value.length(), from, length)));
  }

  /** Returns the zero-based start of a part in a text of length {@code size}. */
  static int start(int size, int position) {
    return position < 0 ? Math.max(size + position, 0) : Math.max(Math.min(position - 1, size), 0);
  }

  static int end(int size, int start, int length) {
    return (int) Math.max(Math.min((long) start + length, size), start);
  }

  /** Pads to a length on the left; null if the padding is empty. */
  public static UTF8String padLeft(UTF8String text, int length, UTF8String padding) {
    if (length < 0 || padding.numBytes() == 0) {
      return null;
    }
    String value = text.toString();
    Limits.ensureLength(length);
    String padded = padding(padding.toString(), length - value.length()) + value;
    return UTF8String.fromString(padded.substring(0, length));
  }

  public static UTF8String padRight(UTF8String text, int length, UTF8String padding) {
    if (length < 0 || padding.numBytes() == 0) {
      return null;
    }
    String value = text.toString();
    Limits.ensureLength(length);
    String padded = value + padding(padding.toString(), length - value.length());
    return UTF8String.fromString(padded.substring(0, length));
  }

  private static String padding(String padding, int length) {
    return length <= 0
        ? ""
        : padding.repeat((length - 1) / padding.length() + 1).substring(0, length);
  }

  /**
   * Returns the position of the nth occurrence of a part; 0 if there is none. Searches from a
   * position on, or backwards from a negative one, which counts from the end. Null texts contain
   * nothing and are not contained.
   */
  public static int position(UTF8String text, UTF8String part, int from, int occurrence) {
    if (text == null || part == null || from == 0 || occurrence < 1) {
      return 0;
    }
    String value = text.toString();
    String wanted = part.toString();
    if (wanted.isEmpty()) {
      return from > 0 && from <= value.length() ? from : 0;
    }
    int at = from > 0 ? from - 2 : value.length() + from + 1;
    for (int i = 0; i < occurrence; i++) {
      at = from > 0 ? value.indexOf(wanted, at + 1) : value.lastIndexOf(wanted, at - 1);
      if (at < 0) {
        return 0;
      }
    }
    return at + 1;
  }

  /** Replaces a part; an empty part matches before and after each character. */
  public static UTF8String replace(UTF8String text, UTF8String part, UTF8String by) {
    String value = text.toString();
    String wanted = part.toString();
    String other = by.toString();
    ensureReplaced(value, wanted, other);
    return UTF8String.fromString(value.replace(wanted, other));
  }

  private static void ensureReplaced(String value, String wanted, String other) {
    long count = wanted.isEmpty() ? value.length() + 1L : value.length() / wanted.length();
    if (value.length() + count * other.length() <= Limits.LENGTH_MAX) {
      return;
    }
    if (!wanted.isEmpty()) {
      count = 0;
      for (int at = value.indexOf(wanted);
          at >= 0;
          at = value.indexOf(wanted, at + wanted.length())) {
        count++;
      }
    }
    Limits.ensureLength(value.length() + count * (other.length() - wanted.length()));
  }

  /** Joins elements with a delimiter; a null element becomes {@code null}. */
  public static UTF8String joined(ArrayData elements, UTF8String delimiter) {
    StringJoiner joined = new StringJoiner(delimiter.toString());
    for (int i = 0; i < elements.numElements(); i++) {
      String one = elements.isNullAt(i) ? "null" : elements.getUTF8String(i).toString();
      long delimited = i == 0 ? 0 : (long) joined.length() + delimiter.numChars();
      Limits.ensureLength(delimited + one.length());
      joined.add(one);
    }
    return UTF8String.fromString(joined.toString());
  }

  /** Removes blanks and control characters at both ends. */
  public static UTF8String trim(UTF8String text) {
    return UTF8String.fromString(text.toString().trim());
  }

  /** Capitalizes words between white space; other letters become lower case. */
  public static UTF8String capitalized(UTF8String text) {
    StringBuilder capitalized = new StringBuilder();
    boolean starts = true;
    for (int c : text.toString().toLowerCase(Locale.ROOT).codePoints().toArray()) {
      capitalized.appendCodePoint(starts ? Character.toUpperCase(c) : c);
      starts = Character.isWhitespace(c);
    }
    return UTF8String.fromString(capitalized.toString());
  }

  /** Returns the character of a code point, or null. */
  public static UTF8String ofCodePoint(int code) {
    return Character.isValidCodePoint(code)
        ? UTF8String.fromString(Character.toString(code))
        : null;
  }

  /** Decodes Java's escape sequences, or returns null. */
  public static UTF8String ofEscapes(UTF8String text) {
    String escapes = text.toString();
    if (!ESCAPES.matcher(escapes).matches()) {
      return null;
    }
    StringBuilder characters = new StringBuilder();
    for (String unit : escapes.substring(2).split("\\\\u")) {
      characters.append((char) Integer.parseInt(unit, 16));
    }
    return UTF8String.fromString(characters.toString());
  }

  public static UTF8String uuid() {
    return UTF8String.fromString(UUID.randomUUID().toString());
  }
}
