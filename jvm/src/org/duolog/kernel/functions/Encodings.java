package org.duolog.kernel.functions;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Base64;
import java.util.HexFormat;
import java.util.Locale;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Converts bytes to texts and back: {@code hex}, {@code utf8}, {@code ascii} and {@code base64};
 * called from code that Spark generates. Characters outside of ASCII become a question mark, or
 * U+FFFD.
 */
public final class Encodings {
  private Encodings() {}

  /**
   * Converts a text to that of the same bytes in another encoding; hexadecimal digits are in lower
   * case.
   */
  public static UTF8String encode(UTF8String text, UTF8String from, UTF8String to) {
    String value = text.toString();
    boolean hex = name(from).equals("hex");
    byte[] bytes = decode(hex ? digits(value) : value, from);
    return UTF8String.fromString(encode(bytes, to));
  }

  public static byte[] toBytes(UTF8String text, UTF8String encoding) {
    return decode(text.toString(), encoding);
  }

  /** Converts bytes to a text; hexadecimal digits are in upper case. */
  public static UTF8String fromBytes(byte[] bytes, UTF8String encoding) {
    String text = encode(bytes, encoding);
    boolean hex = name(encoding).equals("hex");
    return UTF8String.fromString(hex ? text.toUpperCase(Locale.ROOT) : text);
  }

  private static byte[] decode(String text, UTF8String encoding) {
    return switch (name(encoding)) {
      case "hex" -> HexFormat.of().parseHex(text);
      case "utf8" -> text.getBytes(UTF_8);
      case "ascii" -> text.getBytes(US_ASCII);
      case "base64" -> Base64.getDecoder().decode(text);
      default -> throw unknown(encoding);
    };
  }

  private static String encode(byte[] bytes, UTF8String encoding) {
    return switch (name(encoding)) {
      case "hex" -> HexFormat.of().formatHex(bytes);
      case "utf8" -> new String(bytes, UTF_8);
      case "ascii" -> new String(bytes, US_ASCII);
      case "base64" -> Base64.getEncoder().encodeToString(bytes);
      default -> throw unknown(encoding);
    };
  }

  /** Returns the digits within {@code 0x…} or {@code X'…'}, or the whole text. */
  private static String digits(String text) {
    if (text.startsWith("0x")) {
      return (text.length() % 2 == 0 ? "" : "0") + text.substring(2);
    }
    boolean quoted = text.matches("[xX]'.*'");
    return quoted ? text.substring(2, text.length() - 1) : text;
  }

  private static String name(UTF8String encoding) {
    return encoding.toString().toLowerCase(Locale.ROOT);
  }

  private static IllegalArgumentException unknown(UTF8String encoding) {
    return new IllegalArgumentException(
        "encoding is " + encoding + ", expected hex, utf8, ascii or base64");
  }
}
