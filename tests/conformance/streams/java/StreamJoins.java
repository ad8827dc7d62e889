import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.ValueJoinerWithKey;
import org.apache.kafka.streams.kstream.internals.ImmediateJoins;

/** Joins of streams in Kafka Streams' DSL, each with what it is asked to be prompt by, if the oracle is altered. */
final class StreamJoins {
  private final ImmediateJoins prompt = new ImmediateJoins();

  KStream<Object, Json.Row> join(
      JsonNode node,
      JsonNode left,
      KStream<Object, Json.Row> stream,
      List<String> right,
      KStream<Object, Json.Row> other) {
    ValueJoinerWithKey<Object, Json.Row, Json.Row, Json.Row> joiner =
        joiner(node.get("values"), new Columns(left), right);
    StreamJoined<Object, Json.Row, Json.Row> with =
        StreamJoined.with(Json.KEYS, Json.ROWS, Json.ROWS);
    JoinWindows windows = windows(node);
    boolean unmodified = node.get("unmodified").asBoolean();
    KStream<Object, Json.Row> one = unmodified ? stream : prompt.before(stream);
    KStream<Object, Json.Row> two = unmodified ? other : prompt.before(other);
    KStream<Object, Json.Row> joined =
        switch (node.get("join").asText()) {
          case "inner" -> one.join(two, joiner, windows, with);
          case "left" -> one.leftJoin(two, joiner, windows, with);
          default -> one.outerJoin(two, joiner, windows, with);
        };
    return unmodified ? joined : prompt.watch(joined);
  }

  /** Has each join look for what has closed when its next record comes. */
  void forget() {
    prompt.forget();
  }

  private static ValueJoinerWithKey<Object, Json.Row, Json.Row, Json.Row> joiner(
      JsonNode values, Columns left, List<String> right) {
    return (key, row, found) -> {
      long time = Math.max(row == null ? -1 : row.time(), found == null ? -1 : found.time());
      List<Object> cells = found == null ? null : found.values();
      return new Json.Row(
          Columns.all(
              values, left.scope(key, row, PlanBuilder.named(right, cells), Map.of())),
          time);
    };
  }

  @SuppressWarnings("deprecation") // Of eager joins there is nothing else.
  private static JoinWindows windows(JsonNode node) {
    Duration before = Duration.ofMillis(node.get("before_ms").asLong());
    Duration after = Duration.ofMillis(node.get("after_ms").asLong());
    Duration grace = Duration.ofMillis(node.get("grace_ms").asLong());
    // Either may be negative: the other one is there first.
    Duration both = before.compareTo(after) > 0 ? before : after;
    return node.get("eager").asBoolean()
        ? JoinWindows.of(both).before(before).after(after).grace(grace)
        : JoinWindows.ofTimeDifferenceAndGrace(both, grace).before(before).after(after);
  }
}
