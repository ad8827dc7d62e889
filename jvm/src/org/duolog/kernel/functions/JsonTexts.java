package org.duolog.kernel.functions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions of JSON texts; called from code that Spark generates.
 *
 * <p>Numbers keep their digits. Text after a value is ignored. Arguments are not null unless stated
 * otherwise. Source: ksqlDB's documentation of its functions.
 */
public final class JsonTexts {
  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();
  private static final BoundedCache<JsonPath> PATHS = new BoundedCache<>(JsonPath::new);

  private JsonTexts() {}

  /**
   * Returns the characters of a text, the JSON of other values; null if there is no value at the
   * path.
   */
  public static UTF8String extract(UTF8String json, UTF8String path) {
    JsonNode found = PATHS.of(path.toString()).in(parsed(json));
    if (found == null || found.isMissingNode()) {
      return null;
    }
    return UTF8String.fromString(found.isTextual() ? found.textValue() : found.toString());
  }

  /** Returns false for null. */
  public static boolean isJson(UTF8String text) {
    JsonNode found = text == null ? null : parsedOrNull(text);
    return found != null && !found.isMissingNode();
  }

  public static Integer arrayLength(UTF8String json) {
    JsonNode found = parsed(json);
    return found.isArray() ? (Integer) found.size() : null;
  }

  /**
   * Returns true if an array contains this value, given as JSON; integers differ from numbers with
   * a decimal point.
   */
  public static boolean arrayContains(UTF8String json, UTF8String value) {
    JsonNode found = parsed(json);
    JsonNode wanted = parsed(value);
    if (!found.isArray() || wanted.isContainerNode()) {
      return false;
    }
    for (JsonNode element : found) {
      if (same(element, wanted)) {
        return true;
      }
    }
    return false;
  }

  private static boolean same(JsonNode one, JsonNode other) {
    if (one.isNumber() && other.isNumber()) {
      return one.isIntegralNumber() == other.isIntegralNumber()
          && one.decimalValue().compareTo(other.decimalValue()) == 0;
    }
    return one.equals(other);
  }

  /**
   * Merges objects, with the last value of each name; otherwise concatenates arrays, and treats
   * other values as arrays with one element. Null if a text is null, or is not JSON.
   */
  public static UTF8String concat(ArrayData texts) {
    List<JsonNode> nodes = new ArrayList<>();
    for (int i = 0; i < texts.numElements(); i++) {
      JsonNode node = texts.isNullAt(i) ? null : parsedOrNull(texts.getUTF8String(i));
      if (node == null || node.isMissingNode()) {
        return null;
      }
      nodes.add(node);
    }
    if (nodes.isEmpty()) {
      return null;
    }
    JsonNode whole = nodes.stream().allMatch(JsonNode::isObject) ? merged(nodes) : chained(nodes);
    return UTF8String.fromString(whole.toString());
  }

  private static ObjectNode merged(List<JsonNode> objects) {
    ObjectNode merged = MAPPER.createObjectNode();
    objects.forEach(object -> merged.setAll((ObjectNode) object));
    return merged;
  }

  private static ArrayNode chained(List<JsonNode> nodes) {
    ArrayNode chained = MAPPER.createArrayNode();
    for (JsonNode node : nodes) {
      if (node instanceof ArrayNode array) {
        chained.addAll(array);
      } else {
        chained.add(node);
      }
    }
    return chained;
  }

  /** Returns the JSON of each element of an array. */
  public static ArrayData items(UTF8String json) {
    JsonNode found = parsed(json);
    if (found.isMissingNode()) {
      return null;
    }
    if (!found.isArray()) {
      throw new IllegalArgumentException("JSON is not an array");
    }
    List<UTF8String> items = new ArrayList<>();
    found.forEach(element -> items.add(UTF8String.fromString(element.toString())));
    return new GenericArrayData(items.toArray());
  }

  /** Returns the names of an object's fields; null if it is not an object. */
  public static ArrayData keys(UTF8String json) {
    JsonNode found = parsedOrNull(json);
    return found != null && found.isObject() ? names(found) : null;
  }

  /**
   * Returns the fields of an object by name, texts unchanged and other values as JSON; null if it
   * is not an object.
   */
  public static MapData records(UTF8String json) {
    JsonNode found = parsedOrNull(json);
    if (found == null || !found.isObject()) {
      return null;
    }
    List<UTF8String> values = new ArrayList<>();
    found.forEach(
        value ->
            values.add(
                UTF8String.fromString(value.isTextual() ? value.textValue() : value.toString())));
    return new ArrayBasedMapData(names(found), new GenericArrayData(values.toArray()));
  }

  private static GenericArrayData names(JsonNode object) {
    List<UTF8String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(name -> names.add(UTF8String.fromString(name)));
    return new GenericArrayData(names.toArray());
  }

  private static JsonNode parsed(UTF8String text) {
    try {
      return MAPPER.readTree(text.toString());
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not JSON: " + e.getOriginalMessage(), e);
    }
  }

  private static JsonNode parsedOrNull(UTF8String text) {
    try {
      return parsed(text);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
