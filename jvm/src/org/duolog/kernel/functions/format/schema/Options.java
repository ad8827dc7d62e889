package org.duolog.kernel.functions.format.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.errors.SerializationException;

/**
 * The options of a format, as in {@code duolog.plan.formats}: a JSON object with texts.
 *
 * <pre>
 *   registry   the address of the registry
 *   id         the id of the schema to write with
 *   schema     the text of this schema, with what it refers to
 *   single     "bare" if the single column is not inside a record
 *   message    of PROTOBUF: the full name of the message to write
 *   nullable   of PROTOBUF_NOSR: the representation of null
 *   problem    of readers: the start of messages about a record
 *   maps       of JSON_SR: see {@link JsonSr}
 *   descriptor of PROTOBUF_NOSR: a FileDescriptorProto in base64
 * </pre>
 */
public final class Options implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final TreeMap<String, String> values = new TreeMap<>();

  private Options() {}

  static Options of(String json) {
    Options options = new Options();
    try {
      for (Map.Entry<String, JsonNode> each : JSON.readTree(json).properties()) {
        options.values.put(each.getKey(), each.getValue().asText());
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("options are not JSON: " + json, e);
    }
    return options;
  }

  /** Returns the value of an option; null if it is not given. */
  public String get(String name) {
    return values.get(name);
  }

  public boolean isBare() {
    return "bare".equals(get("single"));
  }

  /** Returns the id of the schema to write with. */
  public int schemaId() {
    String id = get("id");
    if (id == null) {
      throw new SerializationException(
          "no schema to write with: the schema of the topic is not in the registry");
    }
    return Integer.parseInt(id);
  }

  public SchemaRegistry registry() {
    String address = get("registry");
    if (address == null) {
      throw new SerializationException(
          "the format needs a schema registry, and ksql.schema.registry.url is not set");
    }
    return SchemaRegistry.at(address);
  }
}
