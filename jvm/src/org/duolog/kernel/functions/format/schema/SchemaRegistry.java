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
 *   refused    RegistryLoginException at once
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
    return of("ids/" + Integer.toUnsignedString(id), AVRO);
  }

  /** Returns an Avro schema by its GUID. */
  public WriterSchema avro(String guid) {
    return of("guids/" + guid, AVRO);
  }

  /** Returns a Protobuf schema as descriptors of files. */
  public WriterSchema protobuf(int id) {
    return of("ids/" + Integer.toUnsignedString(id), PROTOBUF);
  }

  /** Returns a Protobuf schema by its GUID. */
  public WriterSchema protobuf(String guid) {
    return of("guids/" + guid, PROTOBUF);
  }

  /**
   * Returns what a schema is called in a message, with a subject that has it, if the registry names
   * one.
   *
   * @param key an id as an Integer, or the text of a GUID
   */
  public String described(Object key) {
    if (!(key instanceof Integer id)) {
      return "the schema of GUID " + key;
    }
    String shown = Integer.toUnsignedString(id);
    String subject = subject("/schemas/ids/" + shown + "/subjects");
    return "the schema of id " + shown + (subject == null ? "" : ", subject \"" + subject + "\",");
  }

  private String subject(String path) {
    asking.lock();
    try {
      JsonNode answer = requests.getOnce(path);
      return answer == null ? null : answer.path(0).textValue();
    } catch (RegistryAwayException | SerializationException e) {
      return null; // The message is about the schema: it does not become another one.
    } finally {
      asking.unlock();
    }
  }

  private WriterSchema of(String name, String language) {
    String path = name + (language.equals(AVRO) ? "?format=resolved" : "?format=serialized");
    WriterSchema found = known.get(path);
    if (found == null) {
      found = asked(path, name);
    }
    if (!found.language().equals(language)) {
      throw new SerializationException(
          String.format(
              "the schema of %s is %s, not %s", shown(name), found.language(), language));
    }
    return found;
  }

  private static String shown(String name) {
    return name.replace("guids/", "GUID ").replace("ids/", "id ");
  }

  private WriterSchema asked(String path, String name) {
    try {
      asking.lockInterruptibly();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RegistryAwayException("interrupted while waiting for a schema", e);
    }
    try {
      WriterSchema found = known.get(path);
      if (found != null) {
        return found;
      }
      Long until = unknown.get(path);
      if (until == null || System.nanoTime() - until > 0) {
        JsonNode answer = requests.get("/schemas/" + path);
        if (answer != null) {
          found = parsed(answer);
          known.put(path, found);
          return found;
        }
        remember(path);
      }
      throw new SerializationException(
          "the schema registry has no schema of " + shown(name));
    } finally {
      asking.unlock();
    }
  }

  private void remember(String path) {
    if (unknown.size() >= UNKNOWN_MAX) {
      unknown.clear();
    }
    unknown.put(path, System.nanoTime() + UNKNOWN_NANOS);
  }

  private WriterSchema parsed(JsonNode answer) {
    Map<String, String> files = new LinkedHashMap<>();
    String language = answer.path("schemaType").asText(AVRO);
    if (language.equals(PROTOBUF)) {
      addImports(answer, files, 0);
    }
    return new WriterSchema(answer.path("id").asInt(), language, text(answer), files);
  }

  /** Files that are imported come before those that import them. */
  private void addImports(JsonNode file, Map<String, String> files, int depth) {
    for (JsonNode reference : file.path("references")) {
      String name = reference.path("name").asText();
      if (files.containsKey(name) || depth > UNKNOWN_MAX) {
        continue;
      }
      String subject = reference.path("subject").asText();
      String path =
          String.format(
              "/subjects/%s/versions/%d?format=serialized",
              URLEncoder.encode(subject, StandardCharsets.UTF_8).replace("+", "%20"),
              reference.path("version").asInt());
      JsonNode imported = requests.get(path);
      if (imported == null) {
        throw new SerializationException(
            String.format("the schema registry has no schema \"%s\" for an import", name));
      }
      addImports(imported, files, depth + 1);
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
