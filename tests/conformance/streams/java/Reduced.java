import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Reducer;

/** A group reduced to one of its records: what Duolog keeps of it are some of its columns. */
final class Reduced {
  private final List<String> columns;
  private final JsonNode accumulators;
  private final String any;

  /** @param any the accumulator that marks a first record, which Kafka Streams detects itself */
  Reduced(JsonNode group, JsonNode accumulators, String any) {
    this.columns = PlanBuilder.names(group, "value");
    this.accumulators = accumulators;
    this.any = any;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  KTable<Object, Json.Row> table(JsonNode node, Object grouped) {
    if (grouped instanceof KGroupedTable) {
      KGroupedTable<Object, Json.Row> table = (KGroupedTable<Object, Json.Row>) grouped;
      return kept(table.reduce(step("add"), step("subtract"), PlanBuilder.store(node)));
    }
    KGroupedStream<Object, Json.Row> stream = (KGroupedStream<Object, Json.Row>) grouped;
    if (!node.has("windows")) {
      return kept(stream.reduce(step("add"), PlanBuilder.store(node)));
    }
    JsonNode of = node.get("windows");
    if (of.has("gap_ms")) {
      var store = Cogroup.sessionStore(node);
      return kept(
          (KTable)
              stream
                  .windowedBy(Cogroup.sessions(of))
                  .emitStrategy(WindowedFolds.emit(node, store))
                  .reduce(step("add"), store));
    }
    var store = Cogroup.windowStore(node);
    return kept(
        (KTable)
            stream
                .windowedBy(Cogroup.windows(of))
                .emitStrategy(WindowedFolds.emitInWindows(node, store))
                .reduce(step("add"), store));
  }

  /** The columns that Duolog keeps. */
  private KTable<Object, Json.Row> kept(KTable<Object, Json.Row> table) {
    return table.mapValues(
        row -> {
          Map<String, Object> named = PlanBuilder.named(columns, row.values());
          List<Object> values = new ArrayList<>();
          accumulators.forEach(one -> values.add(named.get(one.get("name").asText())));
          return new Json.Row(values.subList(0, values.size() - 1), row.time());
        });
  }

  private Reducer<Json.Row> step(String which) {
    return (kept, row) -> {
      Map<String, Object> before = PlanBuilder.named(columns, kept.values());
      before.put(any, true);
      Expressions.Scope scope =
          new Expressions.Scope(
              PlanBuilder.named(columns, row.values()), Map.of(), before, row.time());
      Map<String, Object> after = new HashMap<>(before);
      accumulators.forEach(
          one -> after.put(one.get("name").asText(), Expressions.evaluate(one.get(which), scope)));
      return new Json.Row(
          new ArrayList<>(columns.stream().map(after::get).toList()),
          Math.max(kept.time(), row.time()));
    };
  }
}
