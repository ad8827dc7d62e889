import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.MicroBatchDriver;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.test.TestRecord;

/**
 * Kafka Streams as the reference: reads a case per line of stdin, prints its output as a line.
 *
 * <pre>
 *   {"plan": [node, ...], "cache": bytes, "sinks": [topic, ...], "unmodified": whether,
 *    "batches": [[{"topic", "key": [...] | null, "value": [...] | null, "time", "headers"}, ...], ...]}
 *   {"batches": [{topic: [{"key", "value", "time", "headers"}, ...], ...}, ...]}   or {"error": text}
 * </pre>
 *
 * A batch is what comes between two commits. Without batches the answer is the topology as text.
 */
public final class StreamsOracle {
  private final Properties config = new Properties();
  private final String stateDir;

  private StreamsOracle(String stateDir) {
    this.stateDir = stateDir;
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, "oracle");
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    config.put(StreamsConfig.STATE_DIR_CONFIG, stateDir);
    config.put(
        StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
        BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
    config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, RowsSerde.class);
    // Results on close leave with the record that closes a window, and not once in a second.
    config.put(
        StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0L);
    config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Json.RowSerde.class);
    // Else a join of streams would look once a second, by the wall clock, for what has closed.
    config.put(
        StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_OUTER_JOIN_SPURIOUS_RESULTS_FIX, 0L);
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    System.setOut(System.err);
    StreamsOracle oracle = new StreamsOracle(args[0]);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      out.println(Json.MAPPER.writeValueAsString(oracle.answer(line)));
      out.flush();
    }
  }

  private JsonNode answer(String line) {
    ObjectNode answer = Json.MAPPER.createObjectNode();
    try {
      JsonNode test = Json.MAPPER.readTree(line);
      if (test.has("batches")) {
        answer.set("batches", run(test));
      } else {
        answer.put("text", PlanBuilder.build(test.get("plan"), new StreamJoins()).describe().toString());
      }
    } catch (Exception error) {
      StringWriter text = new StringWriter();
      error.printStackTrace(new PrintWriter(text));
      answer.put("error", text.toString());
    }
    return answer;
  }

  private ArrayNode run(JsonNode test) {
    if (test.get("unmodified").asBoolean()) {
      return UnmodifiedStreams.run(test, stateDir);
    }
    config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, test.get("cache").asLong());
    ArrayNode written = Json.MAPPER.createArrayNode();
    StreamJoins joins = new StreamJoins();
    Topology topology = PlanBuilder.build(test.get("plan"), joins);
    try (MicroBatchDriver driver = new MicroBatchDriver(topology, config, joins::forget)) {
      for (JsonNode batch : test.get("batches")) {
        batch.forEach(record -> add(driver, record));
        driver.run();
        ObjectNode topics = written.addObject();
        test.get("sinks")
            .forEach(sink -> topics.set(sink.asText(), read(driver.driver(), sink.asText())));
      }
    }
    return written;
  }

  private static void add(MicroBatchDriver driver, JsonNode record) {
    String topic = record.get("topic").asText();
    long time = record.get("time").asLong();
    driver.add(topic, time, key(record), value(record), headers(record));
  }

  /** The key of a record, in bytes. */
  static byte[] key(JsonNode record) {
    JsonNode key = record.get("key");
    String topic = record.get("topic").asText();
    return key.isNull() ? null : Json.KEYS.serializer().serialize(topic, Json.list(key));
  }

  /** The value of a record, in bytes. */
  static byte[] value(JsonNode record) {
    JsonNode value = record.get("value");
    if (value.isNull()) {
      return null;
    }
    Json.Row row = new Json.Row(Json.list(value), record.get("time").asLong());
    return Json.ROWS.serializer().serialize(record.get("topic").asText(), row);
  }

  static Headers headers(JsonNode record) {
    Headers headers = new RecordHeaders();
    for (JsonNode header : record.get("headers")) {
      JsonNode data = header.get(1);
      headers.add(
          header.get(0).asText(),
          data.isNull() ? null : Base64.getDecoder().decode(data.asText()));
    }
    return headers;
  }

  /** The records written to a topic since the last read. */
  static ArrayNode read(TopologyTestDriver driver, String topic) {
    ArrayNode found = Json.MAPPER.createArrayNode();
    TestOutputTopic<Object, Json.Row> output =
        driver.createOutputTopic(topic, Json.KEYS.deserializer(), Json.ROWS.deserializer());
    while (!output.isEmpty()) {
      TestRecord<Object, Json.Row> record = output.readRecord();
      ObjectNode node = found.addObject();
      node.set("key", Json.MAPPER.valueToTree(record.key()));
      node.set(
          "value",
          Json.MAPPER.valueToTree(record.value() == null ? null : record.value().values()));
      node.put("time", record.timestamp());
      ArrayNode headers = node.putArray("headers");
      for (Header header : record.headers()) {
        headers.addArray().add(header.key()).add(header.value());
      }
    }
    return found;
  }
}
