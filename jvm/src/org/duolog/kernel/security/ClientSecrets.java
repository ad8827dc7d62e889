package org.duolog.kernel.security;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;

/**
 * The secrets of Kafka's clients. Settings of clients travel through plans, tasks and logs of
 * Spark, so they have only a name, in {@code duolog.security} and in the options of the login
 * module. A JVM looks for the secrets of a name in:
 *
 * <pre>
 *   this process     what Python has passed to this class
 *   the task         the same on executors: a local property of the query's jobs
 * </pre>
 *
 * <p>The property is also a setting of the context, of no meaning: Spark hides the values of local
 * properties in its event log only if a setting has the same name, and that contains "secret".
 * The name does not begin with "spark": before each job, Spark sets all properties that do to the
 * settings of the session. Threads: any.
 */
public final class ClientSecrets {
  /** The setting of a client that names its secrets. */
  public static final String NAME = "duolog.security";

  private static final String TOLD = "duolog.client.secrets";
  private static final Map<String, ClientSecrets> KNOWN = new ConcurrentHashMap<>();
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

  private final JsonNode fields;

  private ClientSecrets(JsonNode fields) {
    this.fields = fields;
  }

  /**
   * Keeps secrets in this JVM, and sends them to the tasks of queries that the calling thread
   * starts.
   *
   * @param secrets a JSON object: fields by name of the secrets
   */
  public static void tell(SparkSession spark, String secrets) {
    keep(secrets);
    spark.sparkContext().conf().set(TOLD, "");
    spark.sparkContext().setLocalProperty(TOLD, secrets);
  }

  private static void keep(String secrets) {
    try {
      for (Map.Entry<String, JsonNode> of : JSON.readTree(secrets).properties()) {
        KNOWN.put(of.getKey(), new ClientSecrets(of.getValue()));
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("secrets are not JSON"); // The cause repeats its text.
    }
  }

  /** Returns the secrets that a client's settings name. */
  static ClientSecrets of(Map<String, ?> settings) {
    Object name = settings.get(NAME);
    ClientSecrets found = name == null ? null : KNOWN.get(name.toString());
    TaskContext task = TaskContext.get();
    if (found == null && name != null && task != null && task.getLocalProperty(TOLD) != null) {
      keep(task.getLocalProperty(TOLD));
      found = KNOWN.get(name.toString());
    }
    if (found == null) {
      throw new IllegalStateException(
          "this process has no secrets for the Kafka client with " + NAME + "=" + name);
    }
    found.allowTokenEndpoint();
    return found;
  }

  /** Returns a field; null if it is not given. */
  String get(String field) {
    return fields.path(field).asText(null);
  }

  /** Kafka refuses token endpoints that this property does not list. */
  private void allowTokenEndpoint() {
    String url = get(SaslConfigs.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL);
    if (url == null) {
      return;
    }
    synchronized (ClientSecrets.class) {
      String before = System.getProperty(ALLOWED_URLS, "");
      if (!("," + before + ",").contains("," + url + ",")) {
        System.setProperty(ALLOWED_URLS, before.isEmpty() ? url : before + "," + url);
      }
    }
  }

  @Override
  public String toString() {
    return "ClientSecrets"; // No field: a text may reach a log.
  }
}
