package org.duolog.kernel.functions.format.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.common.errors.SerializationException;

/**
 * The schemas of a registry by id, asked over HTTP once per JVM.
 *
 * <pre>
 *   known      kept for ever: a registry never changes the schema of an id
 *   unknown    kept for a short time; the record is a bad one
 *   away       asked again for {@link RegistryRequests#patienceMs}, then RegistryAwayException
 * </pre>
 *
 * <p>Threads: any. One asks at a time; the others find its answer.
 */
public final class SchemaRegistry {
  private static final String AVRO = "AVRO";
  private static final String PROTOBUF = "PROTOBUF";
  private static final long UNKNOWN_NANOS = 5_000_000_000L;
  private static final int UNKNOWN_MAX = 10_000;
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, SchemaRegistry> OPEN = new ConcurrentHashMap<>();
  private static final Map<String, String> STAND_INS = new ConcurrentHashMap<>();

  private final RegistryRequests requests;
  private final Map<String, WriterSchema> known = new ConcurrentHashMap<>();
  private final Map<String, Long> unknown = new ConcurrentHashMap<>();
  private final ReentrantLock asking = new ReentrantLock();

  private SchemaRegistry(RegistryRequests requests) {
    this.requests = requests;
  }

  /** Returns the registry at one address, or at several that are separated by commas. */
  public static SchemaRegistry at(String addresses) {
    return OPEN.computeIfAbsent(
        addresses,
        given -> new SchemaRegistry(new RegistryRequests(STAND_INS.getOrDefault(given, given))));
  }

  /** Lets an address stand for another one in this JVM, for tests with registries in memory. */
  public static void provide(String address, String at) {
    STAND_INS.put(address, at);
    OPEN.remove(address);
  }

  /** Forgets an address and all its schemas. */
  public static void withdraw(String address) {
    STAND_INS.remove(address);
    OPEN.remove(address);
  }

  /** Returns an Avro schema with what it refers to. */
  public WriterSchema avro(int id) {
    return of(id, AVRO, "resolved");
  }

  /** Returns a Protobuf schema as descriptors of files. */
  public WriterSchema protobuf(int id) {
    return of(id, PROTOBUF, "serialized");
  }

  private WriterSchema of(int id, String language, String form) {
    String key = language + id;
    WriterSchema found = known.get(key);
    if (found == null) {
      found = asked(key, id, form);
    }
    if (!found.language().equals(language)) {
      throw new SerializationException(
          String.format("the schema of id %d is %s, not %s", id, found.language(), language));
    }
    return found;
  }

  private WriterSchema asked(String key, int id, String form) {
    try {
      asking.lockInterruptibly();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RegistryAwayException("interrupted while waiting for a schema", e);
    }
    try {
      WriterSchema found = known.get(key);
      if (found != null) {
        return found;
      }
      Long at = unknown.get(key);
      JsonNode answer =
          at != null && System.nanoTime() - at < UNKNOWN_NANOS
              ? null
              : requests.get("/schemas/ids/" + Integer.toUnsignedString(id) + "?format=" + form);
      if (answer == null) {
        remember(key);
        throw new SerializationException(
            "the schema registry has no schema of id " + Integer.toUnsignedString(id));
      }
      found = parsed(id, answer, form);
      known.put(key, found);
      unknown.remove(key);
      return found;
    } finally {
      asking.unlock();
    }
  }

  private void remember(String key) {
    if (unknown.size() >= UNKNOWN_MAX) {
      unknown.clear();
    }
    unknown.putIfAbsent(key, System.nanoTime());
  }

  private WriterSchema parsed(int id, JsonNode answer, String form) {
    Map<String, String> files = new LinkedHashMap<>();
    String language = answer.path("schemaType").asText(AVRO);
    if (language.equals(PROTOBUF)) {
      addImports(answer, form, files, 0);
    }
    return new WriterSchema(id, language, text(answer), files);
  }

  /** Files that are imported come before those that import them. */
  private void addImports(JsonNode file, String form, Map<String, String> files, int depth) {
    for (JsonNode reference : file.path("references")) {
      String name = reference.path("name").asText();
      if (files.containsKey(name) || depth > UNKNOWN_MAX) {
        continue;
      }
      String subject = reference.path("subject").asText();
      String path =
          String.format(
              "/subjects/%s/versions/%d?format=%s",
              URLEncoder.encode(subject, StandardCharsets.UTF_8).replace("+", "%20"),
              reference.path("version").asInt(),
              form);
      JsonNode imported = requests.get(path);
      if (imported == null) {
        throw new SerializationException(
            String.format("the schema registry has no schema \"%s\" for an import", name));
      }
      addImports(imported, form, files, depth + 1);
      files.put(name, text(imported));
    }
  }

  private static String text(JsonNode answer) {
    JsonNode text = answer.path("schema");
    if (!text.isTextual()) {
      throw new RegistryAwayException(
          "the schema registry gives an answer of another form than expected", null);
    }
    return text.asText();
  }

  static JsonNode json(byte[] body) throws IOException {
    return JSON.readTree(body);
  }
}
