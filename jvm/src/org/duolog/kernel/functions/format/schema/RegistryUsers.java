package org.duolog.kernel.functions.format.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;

/**
 * The users of registries. Plans and specs have addresses without users, so that no password is in
 * a checkpoint or a log. A JVM looks for the user of an address, as {@code name:password}, in:
 *
 * <pre>
 *   this process            users that Python has passed to this class
 *   the task                the same on executors: a local property of the query's jobs
 *   the session's setting   spark.duolog.schema.registry.password, for every address
 *   the environment         DUOLOG_SCHEMA_REGISTRY_TOKEN, a bearer token for every address
 *   the environment         DUOLOG_SCHEMA_REGISTRY_USER_INFO, for every address
 * </pre>
 *
 * <p>Spark hides properties and settings whose names contain "password", properties only if there
 * is a setting of the same name. The name does not begin with "spark": before each job, Spark sets
 * all properties that do to the settings of the session. Threads: any.
 */
public final class RegistryUsers {
  private static final String TOLD = "duolog.schema.registry.passwords";
  private static final String SETTING = "spark.duolog.schema.registry.password";
  private static final String TOKEN_VARIABLE = "DUOLOG_SCHEMA_REGISTRY_TOKEN";
  private static final String VARIABLE = "DUOLOG_SCHEMA_REGISTRY_USER_INFO";
  private static final Map<String, String> GIVEN = new ConcurrentHashMap<>();
  private static final ObjectMapper JSON = new ObjectMapper();

  private RegistryUsers() {}

  /**
   * Keeps users in this JVM, and sends them to the tasks of queries that the calling thread starts.
   *
   * @param users a JSON object: {@code name:password} by address
   */
  public static void tell(SparkSession spark, String users) {
    for (Map.Entry<String, JsonNode> user : parsed(users).properties()) {
      GIVEN.put(withoutSlash(user.getKey()), user.getValue().asText());
    }
    spark.sparkContext().conf().set(TOLD, "");
    spark.sparkContext().setLocalProperty(TOLD, users);
  }

  /** Forgets all users that this JVM knows. */
  public static void forget(SparkSession spark) {
    GIVEN.clear();
    spark.sparkContext().setLocalProperty(TOLD, null);
  }

  /** Returns the header for an address; null if it has no user. */
  static String authorization(String address) {
    String user = GIVEN.get(withoutSlash(address));
    if (user == null && TaskContext.get() != null) {
      user = ofTask(withoutSlash(address));
    }
    SparkEnv spark = SparkEnv.get();
    if (user == null && spark != null) {
      user = spark.conf().get(SETTING, null);
    }
    String token = System.getenv(TOKEN_VARIABLE);
    if (user == null && token != null && !token.isBlank()) {
      return "Bearer " + token.strip();
    }
    if (user == null) {
      user = System.getenv(VARIABLE);
    }
    if (user == null || user.isEmpty()) {
      return null;
    }
    byte[] bytes = user.getBytes(StandardCharsets.UTF_8);
    return "Basic " + Base64.getEncoder().encodeToString(bytes);
  }

  private static String ofTask(String address) {
    String users = TaskContext.get().getLocalProperty(TOLD);
    return users == null ? null : parsed(users).path(address).asText(null);
  }

  private static JsonNode parsed(String users) {
    try {
      return JSON.readTree(users);
    } catch (IOException e) {
      throw new IllegalArgumentException("users are not JSON"); // Its text has passwords.
    }
  }

  private static String withoutSlash(String address) {
    return address.replaceAll("/+$", "");
  }
}
