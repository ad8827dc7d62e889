import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.test.TestRecord;

/**
 * Kafka Streams as its users get it: the stores, retentions, record cache and intervals are the defaults.
 *
 * <p>Only public methods of its test driver are called. Results that wait are looked for once in a second of the
 * wall clock, so the driver's clock is moved on by more than that before each record.
 */
final class UnmodifiedStreams {
  private static final Duration BETWEEN_RECORDS = Duration.ofSeconds(2);

  private UnmodifiedStreams() {}

  static ArrayNode run(JsonNode test, String stateDir) {
    Properties config = new Properties();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, "oracle");
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    config.put(StreamsConfig.STATE_DIR_CONFIG, stateDir);
    config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Json.RowSerde.class);
    ArrayNode written = Json.MAPPER.createArrayNode();
    Map<String, TestInputTopic<byte[], byte[]>> topics = new HashMap<>();
    var topology = PlanBuilder.build(test.get("plan"), new StreamJoins());
    try (TopologyTestDriver driver = new TopologyTestDriver(topology, config)) {
      for (JsonNode batch : test.get("batches")) {
        for (JsonNode record : batch) {
          driver.advanceWallClockTime(BETWEEN_RECORDS);
          topics
              .computeIfAbsent(record.get("topic").asText(), topic -> input(driver, topic))
              .pipeInput(
                  new TestRecord<>(
                      StreamsOracle.key(record),
                      StreamsOracle.value(record),
                      StreamsOracle.headers(record),
                      Instant.ofEpochMilli(record.get("time").asLong())));
        }
        ObjectNode results = written.addObject();
        test.get("sinks")
            .forEach(sink -> results.set(sink.asText(), StreamsOracle.read(driver, sink.asText())));
      }
    }
    return written;
  }

  private static TestInputTopic<byte[], byte[]> input(TopologyTestDriver driver, String topic) {
    var bytes = new ByteArraySerializer();
    return driver.createInputTopic(topic, bytes, bytes);
  }
}
