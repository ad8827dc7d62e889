import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** The stores of tables, versioned or not. */
final class Tables {
  private Tables() {}

  static Materialized<Object, Json.Row, KeyValueStore<Bytes, byte[]>> store(
      JsonNode node, Serde<Object> keys) {
    if (node.get("history_ms").isNull()) {
      return Materialized
          .<Object, Json.Row, KeyValueStore<Bytes, byte[]>>with(keys, Json.ROWS)
          .withCachingDisabled();
    }
    String name = "versions-" + node.get("id").asText();
    Duration history = Duration.ofMillis(node.get("history_ms").asLong());
    return Materialized
        .<Object, Json.Row>as(Stores.persistentVersionedKeyValueStore(name, history))
        .withKeySerde(keys)
        .withValueSerde(Json.ROWS);
  }

  /** Lets the records of a stream wait, where the join says so. */
  static <K, V, T> Joined<K, V, T> waiting(JsonNode node, Joined<K, V, T> joined) {
    return node.has("grace_ms")
        ? joined.withGracePeriod(Duration.ofMillis(node.get("grace_ms").asLong()))
        : joined;
  }
}
