package org.duolog.kernel.functions.format;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads maps in both forms that JSON_SR knows: objects, and arrays of
 * {@code {"key": …, "value": …}} for keys of any type. The last value of an equal key counts; a key
 * that is null is an error, because Spark's maps have none.
 */
final class KsqlJsonEntries {
  static final String KEY = "key";
  static final String VALUE = "value";

  private KsqlJsonEntries() {}

  static JsonValue of(MapType type) {
    JsonValue key = KsqlJson.of(type.keyType(), true);
    JsonValue value = KsqlJson.of(type.valueType(), true);
    boolean isText = type.keyType() instanceof StringType;
    boolean isTruth = type.keyType() instanceof BooleanType;
    return parser -> {
      Map<Object, Object> items = new LinkedHashMap<>();
      if (parser.currentToken() == JsonToken.START_OBJECT) {
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          String name = parser.currentName();
          parser.nextToken();
          Object found =
              isText
                  ? UTF8String.fromString(name)
                  : isTruth ? truthOf(name, parser) : keyOf(name, key);
          items.put(found, JsonValue.orNull(value, parser));
        }
      } else {
        JsonValue.expect(parser, JsonToken.START_ARRAY);
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          addEntry(parser, key, value, items);
        }
      }
      return new ArrayBasedMapData(
          new GenericArrayData(items.keySet().toArray()),
          new GenericArrayData(items.values().toArray()));
    };
  }

  private static boolean truthOf(String name, JsonParser parser) throws IOException {
    if (!name.equals("true") && !name.equals("false")) {
      throw JsonValue.other(parser);
    }
    return name.equals("true");
  }

  /** Returns the key that the name of a field stands for, as if it were a text in JSON. */
  private static Object keyOf(String name, JsonValue key) throws IOException {
    String quoted = '"' + new String(JsonStringEncoder.getInstance().quoteAsString(name)) + '"';
    try (JsonParser parser = JsonReader.FACTORY.createParser(quoted)) {
      parser.nextToken();
      return key.read(parser);
    }
  }

  private static void addEntry(
      JsonParser parser, JsonValue key, JsonValue value, Map<Object, Object> items)
      throws IOException {
    JsonValue.expect(parser, JsonToken.START_OBJECT);
    Object foundKey = null;
    Object foundValue = null;
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      parser.nextToken();
      if (name.equals(KEY)) {
        foundKey = JsonValue.orNull(key, parser);
      } else if (name.equals(VALUE)) {
        foundValue = JsonValue.orNull(value, parser);
      } else {
        parser.skipChildren();
      }
    }
    if (foundKey == null) {
      throw JsonValue.other(parser);
    }
    items.put(foundKey, foundValue);
  }
}
