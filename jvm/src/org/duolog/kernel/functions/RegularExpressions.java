package org.duolog.kernel.functions;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions of Java's regular expressions; called from code that Spark generates. Arguments are not
 * null.
 */
public final class RegularExpressions {
  private static final int ALL = -1;
  private static final int PATTERN_LENGTH_MAX = 10_000;
  private static final BoundedCache<Pattern> PATTERNS =
      new BoundedCache<>(RegularExpressions::compiled);

  private RegularExpressions() {}

  /**
   * Returns a group of the first match, 0 for the whole match; null if there is no match or no such
   * group.
   */
  public static UTF8String extract(UTF8String pattern, UTF8String text, int group) {
    return over(
        pattern,
        text,
        matcher ->
            matcher.groupCount() >= group && matcher.find()
                ? UTF8String.fromString(matcher.group(group))
                : null);
  }

  /** Returns a group of all matches; null if there is no such group. */
  public static ArrayData extractAll(UTF8String pattern, UTF8String text, int group) {
    return over(
        pattern,
        text,
        matcher -> {
          if (matcher.groupCount() < group) {
            return null;
          }
          List<UTF8String> found = new ArrayList<>();
          while (matcher.find()) {
            found.add(UTF8String.fromString(matcher.group(group)));
          }
          return new GenericArrayData(found.toArray());
        });
  }

  /** Replaces all matches; {@code $1} stands for the first group. */
  public static UTF8String replace(UTF8String text, UTF8String pattern, UTF8String by) {
    return over(
        pattern,
        text,
        matcher -> {
          StringBuilder replaced = new StringBuilder();
          while (matcher.find()) {
            matcher.appendReplacement(replaced, by.toString());
            Limits.ensureLength(replaced.length());
          }
          matcher.appendTail(replaced);
          Limits.ensureLength(replaced.length());
          return UTF8String.fromString(replaced.toString());
        });
  }

  /** Splits at matches, keeping empty parts; an empty pattern splits into characters. */
  public static ArrayData split(UTF8String text, UTF8String pattern) {
    if (pattern.numBytes() == 0) {
      return Texts.characters(text);
    }
    return over(
        pattern,
        text,
        matcher -> {
          String value = text.toString();
          List<UTF8String> parts = new ArrayList<>();
          for (String part : matcher.pattern().split(value, ALL)) {
            parts.add(UTF8String.fromString(part));
          }
          return new GenericArrayData(parts.toArray());
        });
  }

  private static Pattern compiled(String pattern) {
    if (pattern.length() > PATTERN_LENGTH_MAX) {
      throw new IllegalArgumentException(
          "a regular expression of "
              + pattern.length()
              + " characters is too long, expected at most "
              + PATTERN_LENGTH_MAX);
    }
    return Pattern.compile(pattern);
  }

  /** Java's matcher recurses once for each character that a repeated group matches. */
  private static <T> T over(UTF8String pattern, UTF8String text, Function<Matcher, T> search) {
    try {
      return search.apply(PATTERNS.of(pattern.toString()).matcher(text.toString()));
    } catch (StackOverflowError e) {
      throw new IllegalArgumentException(
          "a text of " + text.numBytes() + " bytes is too long for the regular expression "
              + pattern);
    }
  }
}
