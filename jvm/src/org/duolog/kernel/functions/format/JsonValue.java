package org.duolog.kernel.functions.format;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.SparkDateTimeUtils$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads the current value of a JSON parser as a value of one type.
 *
 * <p>The parser is at the value's first token before, and at its last token after. A value of
 * another type is an IOException. Threads: one at a time.
 */
@FunctionalInterface
public interface JsonValue {
  Object read(JsonParser parser) throws IOException;

  /** Longer numbers are rejected: the cost grows faster than the length. */
  int NUMBER_LENGTH_MAX = 1000;

  int INTEGER_LENGTH_MAX = 20;
  long TIMESTAMP_MS_MIN = -62_135_596_800_000L; // 0001-01-01
  long TIMESTAMP_MS_MAX = 253_402_300_799_999L; // 9999-12-31
  Pattern TIMESTAMP =
      Pattern.compile(
          "\\d{4}-\\d\\d-\\d\\d"
              + "([T ]([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,9})?)?"
              + "(Z|[+-]((0\\d|1[0-7]):[0-5]\\d|18:00))?)?");

  /** Returns a reader for values that are not null. */
  static JsonValue of(DataType type) {
    if (type instanceof StructType struct) {
      return object(struct);
    } else if (type instanceof ArrayType array) {
      return array(of(array.elementType()));
    } else if (type instanceof MapType map && map.keyType() instanceof StringType) {
      return map(of(map.valueType()));
    } else if (type instanceof DecimalType decimal) {
      return parser -> JsonNumbers.decimal(parser, decimal);
    } else if (type instanceof StringType) {
      return JsonValue::text;
    } else if (type instanceof IntegerType) {
      return parser -> (int) JsonNumbers.integer(parser, Integer.MIN_VALUE, Integer.MAX_VALUE);
    } else if (type instanceof LongType) {
      return parser -> JsonNumbers.integer(parser, Long.MIN_VALUE, Long.MAX_VALUE);
    } else if (type instanceof DoubleType) {
      return JsonNumbers::real;
    } else if (type instanceof BooleanType) {
      return JsonValue::bool;
    } else if (type instanceof BinaryType) {
      return JsonValue::bytes;
    } else if (type instanceof DateType) {
      return JsonValue::date;
    } else if (type instanceof TimestampType) {
      return JsonValue::timestamp;
    }
    throw new IllegalArgumentException("JSON cannot be read as " + type.sql());
  }

  /**
   * Reads fields in any order; missing ones are null, unknown ones are ignored. Most records have
   * the order of the schema, so that position is tried before names are looked up.
   */
  static JsonValue object(StructType struct) {
    StructField[] fields = struct.fields();
    Map<String, Integer> places = new HashMap<>();
    String[] names = struct.fieldNames();
    JsonValue[] readers = new JsonValue[fields.length];
    for (int i = 0; i < fields.length; i++) {
      places.put(fields[i].name(), i);
      readers[i] = of(fields[i].dataType());
    }
    return parser -> {
      expect(parser, JsonToken.START_OBJECT);
      Object[] values = new Object[readers.length];
      int next = 0;
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        boolean asExpected = next < names.length && names[next].equals(name);
        Integer place = asExpected ? (Integer) next : places.get(name);
        parser.nextToken();
        if (place == null) {
          parser.skipChildren();
        } else {
          values[place] = orNull(readers[place], parser);
          next = place + 1;
        }
      }
      return new GenericInternalRow(values);
    };
  }

  static JsonValue array(JsonValue element) {
    return parser -> {
      expect(parser, JsonToken.START_ARRAY);
      List<Object> items = new ArrayList<>();
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        items.add(orNull(element, parser));
      }
      return new GenericArrayData(items.toArray());
    };
  }

  /** The last value of a duplicate key counts. */
  static JsonValue map(JsonValue value) {
    return parser -> {
      expect(parser, JsonToken.START_OBJECT);
      Map<UTF8String, Object> items = new LinkedHashMap<>();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        UTF8String key = UTF8String.fromString(parser.currentName());
        parser.nextToken();
        items.put(key, orNull(value, parser));
      }
      return new ArrayBasedMapData(
          new GenericArrayData(items.keySet().toArray()),
          new GenericArrayData(items.values().toArray()));
    };
  }

  static Object orNull(JsonValue reader, JsonParser parser) throws IOException {
    return parser.currentToken() == JsonToken.VALUE_NULL ? null : reader.read(parser);
  }

  /**
   * Returns any value's text: a number as it is written, an object without white space. If a name
   * occurs twice in an object, the last value counts, as when Jackson reads a tree.
   */
  static UTF8String text(JsonParser parser) throws IOException {
    if (parser.currentToken().isScalarValue()) {
      return UTF8String.fromString(parser.getText());
    }
    StringBuilder text = new StringBuilder();
    append(parser, text);
    return UTF8String.fromString(text.toString());
  }

  private static void append(JsonParser parser, StringBuilder text) throws IOException {
    switch (parser.currentToken()) {
      case START_OBJECT -> appendObject(parser, text);
      case START_ARRAY -> {
        String before = "[";
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          text.append(before);
          append(parser, text);
          before = ",";
        }
        text.append(before.equals("[") ? "[]" : "]");
      }
      case VALUE_STRING -> appendQuoted(parser.getText(), text);
      default -> text.append(parser.getText());
    }
  }

  private static void appendObject(JsonParser parser, StringBuilder text) throws IOException {
    int start = text.length();
    Map<String, int[]> fields = new LinkedHashMap<>();
    boolean repeated = false;
    text.append('{');
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String name = parser.currentName();
      text.append(fields.isEmpty() ? "" : ",");
      int begin = text.length();
      appendQuoted(name, text);
      text.append(':');
      parser.nextToken();
      append(parser, text);
      // A name keeps its first place.
      repeated |= fields.put(name, new int[] {begin, text.length()}) != null;
    }
    if (repeated) {
      StringJoiner last = new StringJoiner(",", "{", "");
      fields.values().forEach(field -> last.add(text.substring(field[0], field[1])));
      text.setLength(start);
      text.append(last);
    }
    text.append('}');
  }

  private static void appendQuoted(String value, StringBuilder text) {
    text.append('"');
    JsonStringEncoder.getInstance().quoteAsString(value, text);
    text.append('"');
  }

  private static Object bool(JsonParser parser) throws IOException {
    if (!parser.currentToken().isBoolean()) {
      throw other(parser);
    }
    return parser.getBooleanValue();
  }

  private static Object bytes(JsonParser parser) throws IOException {
    expect(parser, JsonToken.VALUE_STRING);
    String text = parser.getText();
    try {
      // Java's decoder accepts text without padding too.
      if (text.length() % 4 == 0) {
        return Base64.getDecoder().decode(text);
      }
    } catch (IllegalArgumentException e) {
      // As below.
    }
    throw other(parser);
  }

  private static Object date(JsonParser parser) throws IOException {
    expect(parser, JsonToken.VALUE_STRING);
    String text = parser.getText();
    try {
      LocalDate date = LocalDate.parse(text);
      // +12345-01-01 is valid ISO 8601 too; only years that Python supports are accepted.
      if (text.length() == 10 && date.getYear() > 0) {
        return (int) date.toEpochDay();
      }
    } catch (DateTimeException e) {
      // As below.
    }
    throw other(parser);
  }

  /** Parses ISO 8601, in UTC if there is no zone; a number is in milliseconds, as in Kafka. */
  private static Object timestamp(JsonParser parser) throws IOException {
    if (parser.currentToken() == JsonToken.VALUE_NUMBER_INT) {
      return JsonNumbers.integer(parser, TIMESTAMP_MS_MIN, TIMESTAMP_MS_MAX) * 1000;
    }
    expect(parser, JsonToken.VALUE_STRING);
    String text = parser.getText();
    if (TIMESTAMP.matcher(text).matches()) {
      var micros =
          SparkDateTimeUtils$.MODULE$.stringToTimestamp(
              UTF8String.fromString(text), ZoneOffset.UTC);
      if (micros.isDefined()) {
        long found = (Long) micros.get();
        if (Math.floorDiv(found, 1000L) >= TIMESTAMP_MS_MIN
            && Math.floorDiv(found, 1000L) <= TIMESTAMP_MS_MAX) {
          return found;
        }
      }
    }
    throw other(parser);
  }

  static void expect(JsonParser parser, JsonToken token) throws IOException {
    if (parser.currentToken() != token) {
      throw other(parser);
    }
  }

  /** Creates the exception for a value of another type. */
  static IOException other(JsonParser parser) {
    return new OtherType(parser);
  }

  /** A value of another type than expected, or out of its range, at the position of a parser. */
  final class OtherType extends JsonParseException {
    private static final long serialVersionUID = 1L;

    private OtherType(JsonParser parser) {
      super(parser, "unexpected " + parser.currentToken());
    }
  }
}
