import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KeyValueMapper;
import org.apache.kafka.streams.kstream.ValueJoinerWithKey;

/** Global tables, and the joins of streams with them. */
final class GlobalTables {
  private GlobalTables() {}

  static GlobalKTable<Object, Json.Row> read(StreamsBuilder builder, String topic) {
    return builder.globalTable(topic, Consumed.with(Json.KEYS, Json.ROWS));
  }

  static KStream<Object, Json.Row> join(
      JsonNode node,
      KStream<Object, Json.Row> stream,
      GlobalKTable<Object, Json.Row> table,
      JsonNode streamNode,
      JsonNode tableNode) {
    JsonNode values = node.get("values");
    Columns left = new Columns(streamNode);
    List<String> right = PlanBuilder.names(tableNode, "value");
    KeyValueMapper<Object, Json.Row, Object> mapper =
        (key, row) -> PlanBuilder.nullIfAll(left.list(node.get("keys"), key, row));
    ValueJoinerWithKey<Object, Json.Row, Json.Row, Json.Row> joiner =
        (key, row, found) -> {
          List<Object> cells = found == null ? null : found.values();
          return new Json.Row(
              Columns.all(values, left.scope(key, row, PlanBuilder.named(right, cells), Map.of())),
              row.time());
        };
    return node.get("left").asBoolean()
        ? stream.leftJoin(table, mapper, joiner)
        : stream.join(table, mapper, joiner);
  }
}
