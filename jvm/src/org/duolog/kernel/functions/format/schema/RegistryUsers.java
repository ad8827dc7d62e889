package org.duolog.kernel.functions.format.schema;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;

/**
 * The users of registries. Plans and specs have addresses without users, so that no password is in
 * a checkpoint or a log; a JVM finds them in this order:
 *
 * <pre>
 *   told by Python          RegistryUsers.set(address, "user:password")
 *   the session's setting   spark.duolog.schema.registry.password = user:password
 *   the environment         DUOLOG_SCHEMA_REGISTRY_USER_INFO = user:password
 * </pre>
 *
 * <p>Spark hides settings whose names contain "password". The last two are for every address;
 * executors on other machines have them too. Threads: any.
 */
public final class RegistryUsers {
  private static final String SETTING = "spark.duolog.schema.registry.password";
  private static final String VARIABLE = "DUOLOG_SCHEMA_REGISTRY_USER_INFO";
  private static final Map<String, String> GIVEN = new ConcurrentHashMap<>();

  private RegistryUsers() {}

  /**
   * Sets the user of one address; null removes it.
   *
   * @param user name and password with a colon between them
   */
  public static void set(String address, String user) {
    if (user == null) {
      GIVEN.remove(address);
    } else {
      GIVEN.put(address, user);
    }
  }

  /** Returns the header for an address; null if it has no user. */
  static String authorization(String address) {
    String user = GIVEN.get(address);
    SparkEnv spark = SparkEnv.get();
    if (user == null && spark != null) {
      user = spark.conf().get(SETTING, null);
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
}
