package org.duolog.kernel.functions.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Finds why bytes are not JSON of some columns, by reading them again:
 *
 * <pre>
 *   $.lines[2].price is a text of another form     the value at this path does not fit its column
 *   $ is an array                                  the record has another form
 *   no JSON at line 1, column 14                   the text ends too early, or breaks JSON's rules
 * </pre>
 *
 * <p>The value itself is left out: reasons are counted, and logged without the records. Threads:
 * any.
 */
final class JsonProblem {
  private static final int PATH_MAX = 200;

  private JsonProblem() {}

  /**
   * Returns what is wrong with the bytes; null if nothing is.
   *
   * @param start where the text begins, after a byte order mark
   * @param alone true if nothing may follow the value
   */
  static UTF8String of(byte[] bytes, int start, JsonValue reader, boolean alone) {
    String found = JsonReader.isText(bytes) ? problem(bytes, start, reader, alone) : "not UTF-8";
    return found == null ? null : UTF8String.fromString(found);
  }

  private static String problem(byte[] bytes, int start, JsonValue reader, boolean alone) {
    try (JsonParser parser = JsonReader.FACTORY.createParser(bytes, start, bytes.length - start)) {
      try {
        if (parser.nextToken() == null) {
          return "no JSON, only white space";
        }
        if (parser.currentToken() == JsonToken.VALUE_NULL) {
          return "$ is null";
        }
        reader.read(parser);
        return alone && parser.nextToken() != null ? "more text after the value" : null;
      } catch (JsonValue.OtherType | InputCoercionException e) {
        return path(parser) + " is " + named(parser);
      }
    } catch (JsonProcessingException e) {
      return e.getLocation() == null
          ? "no JSON"
          : String.format(
              "no JSON at line %d, column %d",
              e.getLocation().getLineNr(), e.getLocation().getColumnNr());
    } catch (IOException e) {
      return "no JSON";
    }
  }

  /** Returns the path of the current value; its beginning, if it is long. */
  private static String path(JsonParser parser) {
    Deque<String> parts = new ArrayDeque<>();
    JsonStreamContext at = parser.getParsingContext();
    if (parser.currentToken().isStructStart()) {
      at = at.getParent(); // The context is already that of the first item.
    }
    for (; at != null && !at.inRoot(); at = at.getParent()) {
      parts.addFirst(at.inArray() ? "[" + at.getCurrentIndex() + "]" : step(at.getCurrentName()));
    }
    String path = "$" + String.join("", parts);
    return path.length() <= PATH_MAX ? path : path.substring(0, PATH_MAX) + "…";
  }

  private static String step(String name) {
    boolean plain = name.matches("[A-Za-z_][A-Za-z_0-9]*");
    return plain ? "." + name : "['" + name.replaceAll("\\p{Cntrl}", "?") + "']";
  }

  private static String named(JsonParser parser) {
    return switch (parser.currentToken()) {
      case START_OBJECT -> "an object";
      case START_ARRAY -> "an array";
      case VALUE_STRING -> "a text of another form";
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number of another kind or range";
      case VALUE_TRUE, VALUE_FALSE -> "a boolean";
      default -> "of another type";
    };
  }
}
