package org.duolog.kernel.functions.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * Parses numbers in JSON at a cost that is bounded by the length of the text: {@code 1e10000000}
 * has nine characters and ten million digits.
 */
final class JsonNumbers {
  private static final int EXPONENT_MAX = 1_000_000_000;
  private static final Pattern DECIMAL =
      Pattern.compile("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?");

  private JsonNumbers() {}

  static long integer(JsonParser parser, long min, long max) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NUMBER_INT
        && parser.getTextLength() <= JsonValue.INTEGER_LENGTH_MAX) {
      long value = parser.getLongValue();
      if (value >= min && value <= max) {
        return value;
      }
    }
    throw JsonValue.other(parser);
  }

  /** Also parses {@code NaN}, {@code Infinity} and {@code -Infinity}, with or without quotes. */
  static Object real(JsonParser parser) throws IOException {
    String text = parser.currentToken().isScalarValue() ? parser.getText() : "";
    switch (text) {
      case "NaN":
        return Double.NaN;
      case "Infinity":
        return Double.POSITIVE_INFINITY;
      case "-Infinity":
        return Double.NEGATIVE_INFINITY;
      default:
        if (!parser.currentToken().isNumeric() || !isDecimal(text)) {
          throw JsonValue.other(parser);
        }
        return Double.parseDouble(text);
    }
  }

  /** Parses a number, or a text with a number; rounds half up to the type's scale. */
  static Object decimal(JsonParser parser, DecimalType type) throws IOException {
    JsonToken token = parser.currentToken();
    String text = token.isNumeric() || token == JsonToken.VALUE_STRING ? parser.getText() : "";
    if (!isDecimal(text)) {
      throw JsonValue.other(parser);
    }
    BigDecimal number;
    try {
      number = new BigDecimal(text);
    } catch (NumberFormatException e) {
      throw JsonValue.other(parser);
    }
    int whole = type.precision() - type.scale();
    // The position of the first digit relative to the decimal point. The following code only
    // handles few digits.
    long magnitude = (long) number.precision() - number.scale();
    if (Math.abs((long) number.scale()) > EXPONENT_MAX
        || (number.signum() != 0 && magnitude > whole)) {
      throw JsonValue.other(parser);
    }
    boolean vanishes = number.signum() == 0 || magnitude < -type.scale();
    BigDecimal rounded =
        (vanishes ? BigDecimal.ZERO : number).setScale(type.scale(), RoundingMode.HALF_UP);
    if (rounded.precision() > type.precision()) {
      throw JsonValue.other(parser);
    }
    return Decimal.apply(rounded, type.precision(), type.scale());
  }

  private static boolean isDecimal(String text) {
    return text.length() <= JsonValue.NUMBER_LENGTH_MAX && DECIMAL.matcher(text).matches();
  }
}
