// What the pages of Kafbat UI do with a ksqlDB server, by its own client: its grammar, requests and parsers.
// Checks [NAME...]   prints a line for each check

import com.fasterxml.jackson.databind.JsonNode;
import io.kafbat.ui.config.ClustersProperties;
import io.kafbat.ui.service.ksql.KsqlApiClient;
import io.kafbat.ui.service.ksql.KsqlApiClient.KsqlResponseTable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

public class Checks {
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final Map<String, String> EARLIEST = Map.of("auto.offset.reset", "earliest");
  private static final String URL = System.getenv("SQL_URL");

  private static KsqlApiClient client = login(System.getenv("SQL_USER"), System.getenv("SQL_PASSWORD"));
  private static int count;

  private static KsqlApiClient login(String user, String password) {
    ClustersProperties.KsqldbServerAuth auth = null;
    if (user != null) {
      auth = new ClustersProperties.KsqldbServerAuth();
      auth.setUsername(user);
      auth.setPassword(password);
    }
    ClustersProperties.TruststoreConfig trust = null;
    if (System.getenv("SQL_TRUSTSTORE") != null) {
      trust = new ClustersProperties.TruststoreConfig();
      trust.setTruststoreLocation(System.getenv("SQL_TRUSTSTORE"));
      trust.setTruststorePassword("changeit");
    }
    return new KsqlApiClient(URL, auth, trust, null, null);
  }

  private static void equal(Object got, Object want) {
    if (!Objects.equals(got, want)) {
      throw new AssertionError("got " + got + ", not " + want);
    }
  }

  private static String name(String what) {
    return what + "_" + ++count;
  }

  private static List<KsqlResponseTable> tables(String text, Map<String, String> properties) {
    return client.execute(text, properties).collectList().block(LIMIT);
  }

  private static KsqlResponseTable table(String text) {
    var found = tables(text, Map.of());
    equal(found.size(), 1);
    return found.get(0);
  }

  private static String cell(KsqlResponseTable table, int row, String column) {
    return table.getColumnValue(table.getValues().get(row), column).map(JsonNode::asText).orElse(null);
  }

  private static String stream(String what) {
    var made = name(what);
    var created = table("CREATE STREAM " + made + " (ID VARCHAR KEY, N INT, S STRUCT<X INT, Y VARCHAR>) WITH (KAFKA_TOPIC='"
        + made.toLowerCase() + "', PARTITIONS=1, VALUE_FORMAT='JSON');");
    equal(created.getHeader(), "Status");
    equal(cell(created, 0, "status"), "SUCCESS");
    return made;
  }

  private static void insert(String target, String id, int n) {
    var done = table("INSERT INTO " + target + " (ID, N) VALUES ('" + id + "', " + n + ");");
    equal(List.of(done.getHeader(), cell(done, 0, "Result")), List.of("Query Result", "Success"));
  }

  private static Map<String, String> row(KsqlResponseTable table, String column, String wanted) {
    for (int row = 0; row < table.getValues().size(); row++) {
      if (wanted.equals(cell(table, row, column))) {
        var found = new LinkedHashMap<String, String>();
        for (String one : table.getColumnNames()) {
          found.put(one, cell(table, row, one));
        }
        return found;
      }
    }
    throw new AssertionError("no row has " + column + " = " + wanted);
  }

  private static List<String> rows(List<KsqlResponseTable> tables) {
    var found = new ArrayList<String>();
    for (KsqlResponseTable one : tables) {
      if (one.getHeader().equals("Row")) {
        found.add(one.getValues().get(0).toString());
      }
    }
    return found;
  }

  private static <T> T until(Supplier<T> found) throws InterruptedException {
    for (long end = System.nanoTime() + LIMIT.toNanos(); System.nanoTime() < end; Thread.sleep(50)) {
      T result = found.get();
      if (result != null) {
        return result;
      }
    }
    throw new AssertionError("it did not happen");
  }

  private interface Check {
    void run() throws Exception;
  }

  private static final Map<String, Check> CHECKS = new LinkedHashMap<>();

  static {
    CHECKS.put("the page of streams", () -> {
      var made = stream("LISTED");
      var listed = table("LIST STREAMS;");
      equal(listed.getHeader(), "Streams");
      var found = row(listed, "name", made);
      equal(List.of(found.get("topic"), found.get("keyFormat"), found.get("valueFormat")),
          List.of(made.toLowerCase(), "KAFKA", "JSON"));
    });
    CHECKS.put("the page of tables", () -> {
      var made = name("TABLE_OF");
      equal(cell(table("CREATE TABLE " + made + " (ID BIGINT PRIMARY KEY, V VARCHAR) WITH (KAFKA_TOPIC='" + made
          + "', PARTITIONS=1, VALUE_FORMAT='JSON');"), 0, "status"), "SUCCESS");
      var listed = table("LIST TABLES;");
      equal(listed.getHeader(), "Tables");
      var found = row(listed, "name", made);
      equal(List.of(found.get("topic"), found.get("keyFormat"), found.get("isWindowed")),
          List.of(made, "KAFKA", "false"));
    });
    CHECKS.put("a pull query", () -> {
      var made = stream("PULLED");
      insert(made, "a", 1);
      insert(made, "b", 2);
      var found = tables("SELECT ID, N FROM " + made + ";", Map.of());
      equal(found.get(0).getHeader(), "Schema");
      equal(found.get(0).getColumnNames(), List.of("`ID` STRING", "`N` INTEGER"));
      equal(rows(found), List.of("[\"a\", 1]", "[\"b\", 2]"));
    });
    CHECKS.put("a pull query without rows", () -> {
      var found = tables("SELECT S FROM " + stream("EMPTY") + ";", Map.of());
      equal(found.size(), 1);
      equal(found.get(0).getColumnNames(), List.of("`S` STRUCT<`X` INTEGER, `Y` STRING>"));
    });
    CHECKS.put("a push query shows rows as they arrive, until its page is left", () -> {
      var made = stream("PUSHED");
      insert(made, "a", 1);
      var seen = new ArrayList<KsqlResponseTable>();
      var arrived = new CountDownLatch(3);
      var page = client.execute("SELECT ID, N FROM " + made + " EMIT CHANGES;", EARLIEST).subscribe(one -> {
        synchronized (seen) {
          seen.add(one);
        }
        arrived.countDown();
      });
      until(() -> {
        synchronized (seen) {
          return seen.size() == 2 ? seen : null;
        }
      });
      insert(made, "b", 2);
      equal(arrived.await(LIMIT.toSeconds(), java.util.concurrent.TimeUnit.SECONDS), true);
      equal(rows(seen), List.of("[\"a\", 1]", "[\"b\", 2]"));
      page.dispose();
      until(() -> table("LIST QUERIES;").getValues().stream().noneMatch(one -> one.toString().contains(made)) ? true : null);
    });
    CHECKS.put("a push query with a limit ends", () -> {
      var made = stream("LIMITED");
      insert(made, "a", 1);
      equal(rows(tables("SELECT N FROM " + made + " EMIT CHANGES LIMIT 1;", EARLIEST)), List.of("[1]"));
    });
    CHECKS.put("a query that is refused", () -> {
      for (String query : List.of("SELECT * FROM MISSING;", "SELECT * FROM MISSING EMIT CHANGES;")) {
        var refused = table(query);
        equal(List.of(refused.isError(), refused.getHeader()), List.of(true, "Execution error"));
        equal(cell(refused, 0, "error_code"), "40001");
        equal(cell(refused, 0, "message").contains("MISSING"), true);
      }
    });
    CHECKS.put("a statement that is refused", () -> {
      var refused = table("DROP STREAM MISSING;");
      equal(List.of(refused.isError(), cell(refused, 0, "@type")), List.of(true, "statement_error"));
      equal(cell(refused, 0, "statementText"), "DROP STREAM MISSING;");
    });
    CHECKS.put("a table is filled, explained, terminated and dropped", () -> {
      var source = stream("COUNTED");
      var made = name("COUNTS");
      equal(cell(tables("CREATE TABLE " + made + " AS SELECT ID, COUNT(*) AS K FROM " + source + " GROUP BY ID;",
          EARLIEST).get(0), 0, "status"), "SUCCESS");
      insert(source, "a", 1);
      insert(source, "a", 2);
      until(() -> rows(tables("SELECT * FROM " + made + ";", Map.of())).equals(List.of("[\"a\", 2]")) ? true : null);
      var queries = table("LIST QUERIES;");
      equal(queries.getHeader(), "Queries");
      Map<String, String> query = Map.of();
      for (int one = 0; one < queries.getValues().size(); one++) {
        var sinks = queries.getColumnValue(queries.getValues().get(one), "sinks").orElseThrow();
        if (sinks.toString().equals("[\"" + made + "\"]")) {
          query = row(queries, "id", cell(queries, one, "id"));
        }
      }
      var explained = table("EXPLAIN " + query.get("id") + ";");
      equal(explained.getHeader(), "Queries Description");
      equal(explained.getColumnNames().containsAll(List.of("id", "statementText", "executionPlan", "topology", "state")), true);
      equal(cell(table("TERMINATE " + query.get("id") + ";"), 0, "status"), "SUCCESS");
      equal(cell(table("DROP TABLE " + made + " DELETE TOPIC;"), 0, "status"), "SUCCESS");
      equal(cell(table("DROP STREAM IF EXISTS " + source + " DELETE TOPIC;"), 0, "status"), "SUCCESS");
    });
    CHECKS.put("listings and descriptions", () -> {
      var made = stream("DESCRIBED");
      var described = table("DESCRIBE " + made + ";");
      equal(described.getHeader(), "Source Description");
      equal(List.of(cell(described, 0, "name"), cell(described, 0, "type")), List.of(made, "STREAM"));
      equal(table("DESCRIBE " + made + " EXTENDED;").getColumnNames().contains("statistics"), true);
      var topics = table("LIST TOPICS;");
      equal(topics.getHeader(), "Topics");
      equal(row(topics, "name", made.toLowerCase()).containsKey("replicaInfo"), true);
      var extended = table("LIST TOPICS EXTENDED;");
      equal(extended.getHeader(), "Topics extended");
      equal(extended.getColumnNames(), List.of("name", "replicaInfo", "consumerCount", "consumerGroupCount"));
      equal(table("LIST STREAMS EXTENDED;").getHeader(), "Source descriptions");
      var functions = table("LIST FUNCTIONS;");
      equal(functions.getHeader(), "Function Names");
      equal(row(functions, "name", "UCASE").get("type"), "SCALAR");
      var function = table("DESCRIBE FUNCTION UCASE;");
      equal(List.of(function.getHeader(), cell(function, 0, "name")), List.of("Function description", "UCASE"));
      var properties = table("LIST PROPERTIES;");
      equal(properties.getHeader(), "properties");
      equal(row(properties, "name", "ksql.service.id").get("value"), "default_");
    });
  }

  private static final Map<String, Check> LOGINS = new LinkedHashMap<>();

  static {
    LOGINS.put("the page of streams", () -> {
      stream("WITH_LOGIN");
      equal(table("LIST STREAMS;").getHeader(), "Streams");
    });
    LOGINS.put("a push query", () -> {
      var made = stream("PUSHED");
      insert(made, "a", 1);
      equal(rows(tables("SELECT N FROM " + made + " EMIT CHANGES LIMIT 1;", EARLIEST)), List.of("[1]"));
    });
    LOGINS.put("another password is refused", () -> {
      client = login(System.getenv("SQL_USER"), "wrong");
      for (String text : List.of("LIST STREAMS;", "SELECT * FROM WITH_LOGIN_1;")) {
        var refused = table(text);
        equal(List.of(refused.isError(), cell(refused, 0, "error_code")), List.of(true, "40100"));
      }
    });
  }

  public static void main(String[] arguments) {
    var wanted = Arrays.asList(arguments);
    (System.getenv("SQL_USER") == null ? CHECKS : LOGINS).forEach((name, check) -> {
      if (!wanted.isEmpty() && !wanted.contains(name)) {
        return;
      }
      try {
        check.run();
        System.out.println("ok - " + name);
      } catch (Throwable reason) {
        System.out.println("not ok - " + name + ": " + reason + " " + reason.getStackTrace()[1]);
      }
    });
    System.out.println("done");
    System.exit(0);
  }
}
