package org.duolog.kernel.functions.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.ArrayType;
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
 * Reads the current value of a JSON parser by ksqlDB's rules, which differ from Duolog's:
 *
 * <pre>
 *   fields      by their name, else by their name in upper case: the first of several counts
 *   numbers     texts with a number are numbers too; an integer drops decimal places
 *   DECIMAL     exactly: one that would be rounded is an error
 *   TIMESTAMP, TIME, DATE     milliseconds and days, as numbers
 * </pre>
 *
 * <p>The rules are those of {@code duolog.serde.ksql_json}, which reads the same bytes in Python.
 */
public final class KsqlJson {
  public static final long DAYS_MIN = -719_162; // 0001-01-01
  public static final long DAYS_MAX = 2_932_896; // 9999-12-31
  private static final int NAMES_MAX = 1000;
  private static final int UNKNOWN = -1;
  private static final JsonValue QUOTED_OR_NUMBER = number(TextNumbers::real);

  private KsqlJson() {}

  /**
   * Returns a reader for values that are not null.
   *
   * @param entries true to read maps also as arrays of entries, see {@link KsqlJsonEntries}
   */
  static JsonValue of(DataType type, boolean entries) {
    if (type instanceof StructType struct) {
      return object(struct, entries);
    } else if (type instanceof ArrayType array) {
      return JsonValue.array(of(array.elementType(), entries));
    } else if (type instanceof MapType map && entries) {
      return KsqlJsonEntries.of(map);
    } else if (type instanceof MapType map && map.keyType() instanceof StringType) {
      return JsonValue.map(of(map.valueType(), false));
    }
    return scalar(type);
  }

  private static JsonValue scalar(DataType type) {
    if (type instanceof DecimalType decimal) {
      return number(text -> TextNumbers.decimal(text, decimal));
    } else if (type instanceof StringType) {
      return parser -> UTF8String.fromString(text(parser));
    } else if (type instanceof IntegerType) {
      return parser -> (int) whole(parser, Integer.MIN_VALUE, Integer.MAX_VALUE);
    } else if (type instanceof LongType) {
      return parser -> whole(parser, Long.MIN_VALUE, Long.MAX_VALUE);
    } else if (type instanceof DoubleType) {
      return KsqlJson::real;
    } else if (type instanceof DateType) {
      return parser -> (int) whole(parser, DAYS_MIN, DAYS_MAX);
    } else if (type instanceof TimestampType) {
      return parser ->
          whole(parser, JsonValue.TIMESTAMP_MS_MIN, JsonValue.TIMESTAMP_MS_MAX) * 1000;
    }
    return JsonValue.of(type);
  }

  static JsonValue object(StructType struct, boolean entries) {
    StructField[] fields = struct.fields();
    JsonValue[] readers = new JsonValue[fields.length];
    for (int i = 0; i < fields.length; i++) {
      readers[i] = of(fields[i].dataType(), entries);
    }
    Names names = new Names(struct);
    return parser -> {
      JsonValue.expect(parser, JsonToken.START_OBJECT);
      Object[] values = new Object[readers.length];
      String[] from = new String[readers.length];
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        int place = names.place(name);
        int other = names.otherPlace(place);
        parser.nextToken();
        if (place == UNKNOWN || !names.counts(place, name, from[place])) {
          parser.skipChildren();
          continue;
        }
        values[place] = JsonValue.orNull(readers[place], parser);
        from[place] = name;
        if (other != UNKNOWN && names.counts(other, name, from[other])) {
          values[other] = values[place];
          from[other] = name;
        }
      }
      return new GenericInternalRow(values);
    };
  }

  /** Maps names of fields to columns. Threads: any. */
  private static final class Names {
    private final String[] columns;
    private final Map<String, Integer> exact = new HashMap<>();
    private final Map<String, Integer> seen = new ConcurrentHashMap<>();
    private final int[] others;

    Names(StructType struct) {
      columns = struct.fieldNames();
      for (int i = 0; i < columns.length; i++) {
        exact.put(columns[i], i);
      }
      others = new int[columns.length];
      for (int i = 0; i < columns.length; i++) {
        Integer upper = exact.get(columns[i].toUpperCase(Locale.ROOT));
        boolean isLike =
            upper != null
                && upper != i
                && struct.apply(upper).dataType().equals(struct.apply(i).dataType());
        others[i] = isLike ? upper : UNKNOWN;
      }
    }

    /** Returns the column of a field, or {@link #UNKNOWN}. */
    int place(String name) {
      Integer place = exact.get(name);
      if (place == null) {
        place = seen.get(name);
      }
      if (place == null) {
        place = exact.getOrDefault(name.toUpperCase(Locale.ROOT), UNKNOWN);
        if (seen.size() < NAMES_MAX) {
          seen.put(name, place);
        }
      }
      return place;
    }

    /** A field `foo` is the column of that name, and also FOO if there is no such field. */
    int otherPlace(int place) {
      return place == UNKNOWN ? UNKNOWN : others[place];
    }

    /**
     * Returns true if a field sets a column that may be set already: the last field does, unless an
     * earlier one has the column's own name.
     */
    boolean counts(int place, String name, String before) {
      return columns[place].equals(name) || !columns[place].equals(before);
    }
  }

  private interface Conversion {
    Object of(String text);
  }

  /** Reads a number, or a text with a number. */
  private static JsonValue number(Conversion conversion) {
    return parser -> {
      JsonToken token = parser.currentToken();
      if (!token.isNumeric() && token != JsonToken.VALUE_STRING) {
        throw JsonValue.other(parser);
      }
      try {
        return conversion.of(parser.getText());
      } catch (NumberFormatException e) {
        throw JsonValue.other(parser);
      }
    };
  }

  private static long whole(JsonParser parser, long min, long max) throws IOException {
    JsonToken token = parser.currentToken();
    try {
      if (token.isNumeric()) {
        return TextNumbers.truncated(parser.getText(), min, max);
      }
      if (token == JsonToken.VALUE_STRING) {
        return TextNumbers.integer(parser.getText(), min, max);
      }
    } catch (NumberFormatException e) {
      // As below.
    }
    throw JsonValue.other(parser);
  }

  /** NaN without quotes is not JSON, although the parser accepts it. */
  private static Object real(JsonParser parser) throws IOException {
    JsonToken token = parser.currentToken();
    if (token.isNumeric()
        && !Character.isDigit(parser.getText().charAt(parser.getTextLength() - 1))) {
      throw JsonValue.other(parser);
    }
    return QUOTED_OR_NUMBER.read(parser);
  }

  /**
   * Returns any value's text: a number as Java renders it, an array's items joined with ", ", an
   * object as JSON.
   */
  private static String text(JsonParser parser) throws IOException {
    switch (parser.currentToken()) {
      case START_OBJECT:
        return JsonValue.text(parser).toString();
      case START_ARRAY:
        StringJoiner items = new StringJoiner(", ", "[", "]");
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          items.add(text(parser));
        }
        return items.toString();
      case VALUE_NUMBER_FLOAT:
        try {
          return TextNumbers.rendered(parser.getText());
        } catch (NumberFormatException e) {
          throw JsonValue.other(parser);
        }
      default:
        return parser.getText();
    }
  }
}
