import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.CogroupedKStream;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** Several streams in common groups: each record says by a column which of them it is of. */
final class Cogroup {
  private Cogroup() {}

  @SuppressWarnings({"unchecked", "rawtypes"})
  static KTable<Object, Json.Row> table(
      JsonNode node, List<KStream<Object, Json.Row>> streams, Fold fold) {
    CogroupedKStream<Object, Json.Row> together = null;
    for (int i = 0; i < streams.size(); i++) {
      KGroupedStream<Object, Json.Row> grouped =
          streams.get(i)
              .filter(
                  (key, row) -> row != null && PlanBuilder.nullIfAny(Json.cells(key)) != null)
              .groupByKey(Grouped.with("side-" + node.get("id").asText() + "-" + i, Json.KEYS, Json.ROWS));
      together =
          together == null ? grouped.cogroup(fold::add) : together.cogroup(grouped, fold::add);
    }
    if (!node.has("windows")) {
      return together.aggregate(fold::initial, PlanBuilder.store(node));
    }
    JsonNode of = node.get("windows");
    if (of.has("gap_ms")) {
      return (KTable)
          together
              .windowedBy(sessions(of))
              .aggregate(fold::initial, fold::merge, sessionStore(node));
    }
    return (KTable)
        together.windowedBy(windows(of)).aggregate(fold::initial, windowStore(node));
  }

  static TimeWindows windows(JsonNode of) {
    return TimeWindows.ofSizeAndGrace(duration(of, "size_ms"), duration(of, "grace_ms"))
        .advanceBy(duration(of, "advance_ms"));
  }

  static SessionWindows sessions(JsonNode of) {
    return SessionWindows.ofInactivityGapAndGrace(duration(of, "gap_ms"), duration(of, "grace_ms"));
  }

  static Materialized<Object, Json.Row, WindowStore<Bytes, byte[]>> windowStore(JsonNode node) {
    return Materialized
        .<Object, Json.Row, WindowStore<Bytes, byte[]>>as(node.get("store").asText())
        .withKeySerde(Json.KEYS)
        .withValueSerde(Json.ROWS);
  }

  static Materialized<Object, Json.Row, SessionStore<Bytes, byte[]>> sessionStore(JsonNode node) {
    JsonNode of = node.get("windows");
    var store =
        Materialized
            .<Object, Json.Row, SessionStore<Bytes, byte[]>>as(node.get("store").asText())
            .withKeySerde(Json.KEYS)
            .withValueSerde(Json.ROWS);
    return node.get("unmodified").asBoolean()
        ? store
        : store.withRetention(duration(of, "gap_ms").plus(duration(of, "grace_ms")).plusMillis(1));
  }

  private static Duration duration(JsonNode of, String field) {
    return Duration.ofMillis(of.get(field).asLong());
  }
}
