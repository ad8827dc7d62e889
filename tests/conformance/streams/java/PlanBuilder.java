import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.BranchedKStream;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.Suppressed.BufferConfig;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.kstream.ValueJoinerWithKey;
import org.apache.kafka.streams.kstream.internals.OldValues;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * A plan in Kafka Streams' DSL: each node becomes the call that a person would write for it.
 *
 * <pre>
 *   stream, table   builder.stream, builder.table        aggregate   aggregate, then mapValues
 *   filter          filter                               join        join, leftJoin
 *   project         mapValues                            to_stream   toStream
 *   select_key      map                                  sink        to
 *   explode         flatMapValues                        split       split, branch, defaultBranch
 *   group_by        map + groupByKey, or KTable.groupBy
 *   table_…_join    join, leftJoin, outerJoin            headers, time   processValues
 *   foreign_join    join, leftJoin with an extractor     merge       merge
 *   stream_join     join, leftJoin, outerJoin
 * </pre>
 *
 * A row carries the timestamp of its record, because the DSL's lambdas do not see it.
 */
final class PlanBuilder {
  private final StreamsBuilder builder = new StreamsBuilder();
  private final Map<Integer, JsonNode> nodes = new HashMap<>();
  private final Map<Integer, Object> built = new HashMap<>();
  private final StreamJoins streamJoins;

  private PlanBuilder(StreamJoins streamJoins) {
    this.streamJoins = streamJoins;
  }

  static Topology build(JsonNode plan, StreamJoins streamJoins) {
    PlanBuilder builder = new PlanBuilder(streamJoins);
    for (JsonNode node : plan) {
      builder.nodes.put(node.get("id").asInt(), node);
      builder.built.put(node.get("id").asInt(), builder.add(node));
    }
    return builder.builder.build();
  }

  private Object add(JsonNode node) {
    String kind = node.get("kind").asText();
    return switch (kind) {
      case "stream" -> {
        KStream<Object, Json.Row> stream = builder.stream(topic(node), Extractor.consumed(node));
        yield Extractor.isIn(node) ? stamped(stream) : stream;
      }
      case "table" ->
          // Duolog's record cache holds aggregates only: a table's source hands each change on.
          builder.table(
              topic(node), Extractor.consumed(node), Tables.store(node, keys(node)));
      case "global_table" -> GlobalTables.read(builder, topic(node));
      case "filter" -> filter(node);
      case "project" -> project(node);
      case "select_key" -> selectKey(node);
      case "explode" -> explode(node);
      case "split" -> split(node);
      case "branch" ->
          this.<Map<String, KStream<Object, Json.Row>>>parent(node, 0)
              .get(branch(above(node, 0), node.get("number").asInt()));
      case "group_by" -> isTable(node) ? groupTable(node) : groupStream(node);
      case "aggregate" -> aggregate(node);
      case "cogroup" -> cogroup(node);
      case "to_table" ->
          this.<KStream<Object, Json.Row>>parent(node, 0).toTable(uncached(keys(node)));
      case "join" -> join(node);
      case "global_join" ->
          GlobalTables.join(
              node, parent(node, 0), parent(node, 1), above(node, 0), above(node, 1));
      case "side" -> null; // Kafka Streams makes them of the one call.
      case "foreign_join" -> joinByForeignKey(node);
      case "table_inner_join", "table_left_join", "table_outer_join" -> joinTables(kind, node);
      case "headers" ->
          RecordMetadata.writeHeaders(parent(node, 0), new Columns(above(node, 0)), node);
      case "time" ->
          RecordMetadata.writeTime(parent(node, 0), new Columns(above(node, 0)), node.get("time"));
      case "merge" -> merge(node);
      case "repartition" ->
          this.<KStream<Object, Json.Row>>parent(node, 0)
              .repartition(Repartitioned.with(Json.KEYS, Json.ROWS));
      case "suppress" -> suppress(node);
      case "stream_join" ->
          streamJoins.join(
              node, above(node, 0), parent(node, 0), names(above(node, 1), "value"), parent(node, 1));
      case "to_stream" -> stamped(this.<KTable<Object, Json.Row>>parent(node, 0).toStream());
      case "sink" -> sink(node);
      default -> throw new IllegalArgumentException("no node " + kind);
    };
  }

  private Object filter(JsonNode node) {
    JsonNode predicate = node.get("predicate");
    Columns columns = new Columns(above(node, 0));
    if (isTable(node)) {
      KTable<Object, Json.Row> table = parent(node, 0);
      return OldValues.sent(table.filter((key, row) -> columns.holds(predicate, key, row)));
    }
    KStream<Object, Json.Row> stream = parent(node, 0);
    return stream.filter((key, row) -> columns.holds(predicate, key, row));
  }

  private Object project(JsonNode node) {
    JsonNode values = node.get("values");
    Columns columns = new Columns(above(node, 0));
    if (isTable(node)) {
      KTable<Object, Json.Row> table = parent(node, 0);
      return table.mapValues((key, row) -> columns.row(values, key, row));
    }
    return RecordMetadata.project(parent(node, 0), columns, values);
  }

  private KStream<Object, Json.Row> explode(JsonNode node) {
    JsonNode of = node.get("of");
    Columns columns = new Columns(above(node, 0));
    List<String> before = names(above(node, 0), "value");
    List<String> after = names(node, "value");
    String into = node.get("into").get(0).asText();
    boolean outer = node.get("outer").asBoolean();
    KStream<Object, Json.Row> stream = parent(node, 0);
    return stream.flatMapValues(
        (key, row) -> {
          List<Json.Row> rows = new ArrayList<>();
          List<?> elements = row == null ? null : (List<?>) columns.value(of, key, row);
          for (Object element : elements == null ? List.of() : elements) {
            rows.add(with(row, before, after, into, element));
          }
          if (rows.isEmpty() && outer) {
            rows.add(row == null ? null : with(row, before, after, into, null));
          }
          return rows;
        });
  }

  private static Json.Row with(
      Json.Row row, List<String> before, List<String> after, String into, Object element) {
    Map<String, Object> columns = named(before, row.values());
    columns.put(into, element);
    return new Json.Row(
        new ArrayList<>(after.stream().map(columns::get).toList()), row.time());
  }

  private Map<String, KStream<Object, Json.Row>> split(JsonNode node) {
    Columns columns = new Columns(above(node, 0));
    KStream<Object, Json.Row> stream = parent(node, 0);
    BranchedKStream<Object, Json.Row> branches = stream.split(Named.as(branch(node, "")));
    int number = 0;
    for (JsonNode predicate : node.get("predicates")) {
      branches =
          branches.branch(
              (key, row) -> columns.holds(predicate, key, row), Branched.as("" + number++));
    }
    return branches.defaultBranch(Branched.as("" + number));
  }

  private static String branch(JsonNode split, Object number) {
    return "split-" + split.get("id").asText() + "-" + number;
  }

  private KStream<Object, Json.Row> selectKey(JsonNode node) {
    JsonNode keys = node.get("keys");
    JsonNode values = node.get("values");
    Columns columns = new Columns(above(node, 0));
    KStream<Object, Json.Row> stream = parent(node, 0);
    if (!node.get("changes_key").asBoolean()) {
      return stream.mapValues((key, row) -> columns.row(values, key, row));
    }
    return stream.map(
        (key, row) ->
            KeyValue.pair((Object) nullIfAll(columns.list(keys, key, row)), columns.row(values, key, row)));
  }

  private KGroupedStream<Object, Json.Row> groupStream(JsonNode node) {
    JsonNode keys = node.get("keys");
    JsonNode values = node.get("values");
    Columns columns = new Columns(above(node, 0));
    KStream<Object, Json.Row> stream = parent(node, 0);
    KStream<Object, Json.Row> keyed;
    if (node.get("changes_key").asBoolean()) {
      keyed =
          stream.map(
              (key, row) ->
                  KeyValue.pair((Object) columns.group(keys, key, row), columns.row(values, key, row)));
    } else {
      keyed =
          stream
              .filter((key, row) -> nullIfAny(Json.cells(key)) != null)
              .mapValues((key, row) -> columns.row(values, key, row));
    }
    // Only a windowed aggregate of Streams would be given a record without a value.
    return keyed.filter((key, row) -> row != null).groupByKey(Grouped.with(Json.KEYS, Json.ROWS));
  }

  private KGroupedTable<Object, Json.Row> groupTable(JsonNode node) {
    JsonNode keys = node.get("keys");
    JsonNode values = node.get("values");
    Columns columns = new Columns(above(node, 0));
    KTable<Object, Json.Row> table = parent(node, 0);
    return table.groupBy(
        (key, row) -> KeyValue.pair((Object) columns.group(keys, key, row), columns.row(values, key, row)),
        Grouped.with(Json.KEYS, Json.ROWS));
  }

  private KTable<Object, Json.Row> cogroup(JsonNode node) {
    Columns columns = new Columns(node);
    Fold fold = new Fold(new Columns(above(node, 0)), columns, node.get("accumulators"));
    List<KStream<Object, Json.Row>> streams = new ArrayList<>();
    for (int i = 0; i < node.get("parents").size(); i++) {
      streams.add(parent(node, i));
    }
    JsonNode results = node.get("results");
    return Cogroup.table(node, streams, fold)
        .filter((key, row) -> !Fold.isInitial(row))
        .mapValues((key, row) -> fold.results(results, key, row));
  }

  private KTable<Object, Json.Row> aggregate(JsonNode node) {
    JsonNode group = above(node, 0);
    if (node.has("reduces")) {
      return new Reduced(group, node.get("accumulators"), node.get("reduces").asText())
          .table(node, parent(node, 0));
    }
    Fold fold = new Fold(new Columns(group), new Columns(node), node.get("accumulators"));
    KTable<Object, Json.Row> kept;
    if (isTable(group)) {
      KGroupedTable<Object, Json.Row> grouped = parent(node, 0);
      kept = grouped.aggregate(fold::initial, fold::add, fold::subtract, store(node));
    } else {
      KGroupedStream<Object, Json.Row> grouped = parent(node, 0);
      // The old value of a group's first result is the initializer's, which never was a result.
      kept =
          (node.has("windows")
                  ? new WindowedFolds(node, grouped, fold).table()
                  : grouped.aggregate(fold::initial, fold::add, store(node)))
              .filter((key, row) -> !Fold.isInitial(row));
    }
    JsonNode results = node.get("results");
    return kept.mapValues((key, row) -> fold.results(results, key, row));
  }

  private KStream<Object, Json.Row> join(JsonNode node) {
    JsonNode values = node.get("values");
    Columns left = new Columns(above(node, 0));
    List<String> right = names(above(node, 1), "value");
    KStream<Object, Json.Row> stream = parent(node, 0);
    KTable<Object, Json.Row> table = parent(node, 1);
    ValueJoinerWithKey<Object, Json.Row, Json.Row, Json.Row> joiner =
        (key, row, found) -> {
          List<Object> cells = found == null ? null : found.values();
          return new Json.Row(
              Columns.all(values, left.scope(key, row, named(right, cells), Map.of())),
              row.time());
        };
    Joined<Object, Json.Row, Json.Row> with =
        Tables.waiting(node, Joined.with(Json.KEYS, Json.ROWS, Json.ROWS));
    return node.get("left").asBoolean()
        ? stream.leftJoin(table, joiner, with)
        : stream.join(table, joiner, with);
  }

  private KStream<Object, Json.Row> merge(JsonNode node) {
    KStream<Object, Json.Row> merged = parent(node, 0);
    for (int i = 1; i < node.get("parents").size(); i++) {
      merged = merged.merge(this.<KStream<Object, Json.Row>>parent(node, i));
    }
    return merged;
  }

  private KTable<List<Object>, Json.Row> joinTables(String kind, JsonNode node) {
    JsonNode values = node.get("values");
    Columns left = new Columns(above(node, 0));
    List<String> right = names(above(node, 1), "value");
    KTable<List<Object>, Json.Row> table = parent(node, 0);
    KTable<List<Object>, Json.Row> other = parent(node, 1);
    // Streams' joiner of tables does not see the key: the rows know the later of their times only.
    return switch (kind) {
      case "table_inner_join" -> table.join(other, joiner(values, left, right));
      case "table_left_join" -> table.leftJoin(other, joiner(values, left, right));
      default -> table.outerJoin(other, joiner(values, left, right));
    };
  }

  private KTable<Object, Json.Row> joinByForeignKey(JsonNode node) {
    JsonNode keys = node.get("keys");
    Columns left = new Columns(above(node, 0));
    List<String> right = names(above(node, 1), "value");
    // Foreign-key joins read left values with their serde, which mapValues and filter do not hand on.
    KTable<Object, Json.Row> table = parent(node, 0);
    KTable<Object, Json.Row> other = parent(node, 1);
    boolean windowed = above(node, 1).get("windowed").asBoolean();
    BiFunction<Object, Json.Row, Object> foreignKey =
        (key, row) -> {
          List<Object> found = left.group(keys, key, row);
          return found != null && windowed ? Json.windowed(found) : found;
        };
    ValueJoiner<Json.Row, Json.Row, Json.Row> joiner = joiner(node.get("values"), left, right);
    Materialized<Object, Json.Row, KeyValueStore<Bytes, byte[]>> kept =
        Materialized
            .<Object, Json.Row, KeyValueStore<Bytes, byte[]>>with(
                node.get("windowed").asBoolean() ? Json.WINDOWED : Json.KEYS, Json.ROWS)
            .withCachingDisabled();
    return node.get("left").asBoolean()
        ? table.leftJoin(other, foreignKey, joiner, kept)
        : table.join(other, foreignKey, joiner, kept);
  }

  private static ValueJoiner<Json.Row, Json.Row, Json.Row> joiner(
      JsonNode values, Columns left, List<String> right) {
    return (row, found) -> {
      List<Object> cells = found == null ? null : found.values();
      long time =
          Math.max(row == null ? -1 : row.time(), found == null ? -1 : found.time());
      return new Json.Row(
          Columns.all(values, left.scope(null, row, named(right, cells), Map.of())), time);
    };
  }

  /** In Streams, operators after it retract rows that were never emitted: here none of them retracts. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private KTable<Object, Json.Row> suppress(JsonNode node) {
    KTable<Object, Json.Row> table = parent(node, 0);
    var limit = node.get("max_records");
    long most = limit.isNull() ? Long.MAX_VALUE : limit.asLong();
    if (node.get("time_limit").isNull()) {
      var strict =
          limit.isNull()
              ? BufferConfig.unbounded()
              : BufferConfig.maxRecords(most).shutDownWhenFull();
      return (KTable) ((KTable) table).suppress(Suppressed.untilWindowCloses(strict));
    }
    Duration time = Duration.ofMillis(node.get("time_limit").asLong());
    return table.suppress(
        node.get("shut_down").asBoolean()
            ? Suppressed.untilTimeLimit(time, BufferConfig.maxRecords(most).shutDownWhenFull())
            : Suppressed.untilTimeLimit(time, BufferConfig.maxRecords(most)));
  }

  private Object sink(JsonNode node) {
    KStream<Object, Json.Row> stream =
        isTable(node)
            ? this.<KTable<Object, Json.Row>>parent(node, 0).toStream()
            : parent(node, 0);
    if (node.has("topic_of")) {
      Columns columns = new Columns(above(node, 0));
      JsonNode of = node.get("topic_of");
      stream.to(
          (key, row, context) -> (String) columns.value(of, key, row),
          Produced.with(Json.KEYS, Json.ROWS));
    } else {
      stream.to(topic(node), Produced.with(Json.KEYS, Json.ROWS));
    }
    return stream;
  }

  /** Rows with the timestamps of their records, which a deletion may have moved on. */
  private static KStream<Object, Json.Row> stamped(KStream<Object, Json.Row> stream) {
    return stream.processValues(
        () ->
            new ContextualFixedKeyProcessor<Object, Json.Row, Json.Row>() {
              @Override
              public void process(FixedKeyRecord<Object, Json.Row> record) {
                Json.Row row = record.value();
                context()
                    .forward(
                        row == null
                            ? record
                            : record.withValue(new Json.Row(row.values(), record.timestamp())));
              }
            });
  }

  private static Materialized<Object, Json.Row, KeyValueStore<Bytes, byte[]>> uncached(
      Serde<Object> keys) {
    return Materialized
        .<Object, Json.Row, KeyValueStore<Bytes, byte[]>>with(keys, Json.ROWS)
        .withCachingDisabled();
  }

  static Materialized<Object, Json.Row, KeyValueStore<Bytes, byte[]>> store(
      JsonNode node) {
    var store =
        Materialized
            .<Object, Json.Row, KeyValueStore<Bytes, byte[]>>as(node.get("store").asText())
            .withKeySerde(Json.KEYS)
            .withValueSerde(Json.ROWS);
    return node.get("cached").asBoolean() ? store : store.withCachingDisabled();
  }

  static Serde<Object> keys(JsonNode node) {
    return node.get("windowed").asBoolean() ? Json.WINDOWED : Json.KEYS;
  }

  private static String topic(JsonNode node) {
    return node.get("topic").asText();
  }

  private static boolean isTable(JsonNode node) {
    return node.get("is_table").asBoolean();
  }

  private JsonNode above(JsonNode node, int which) {
    return nodes.get(node.get("parents").get(which).asInt());
  }

  @SuppressWarnings("unchecked")
  private <T> T parent(JsonNode node, int which) {
    return (T) built.get(node.get("parents").get(which).asInt());
  }

  static List<String> names(JsonNode node, String part) {
    List<String> names = new ArrayList<>();
    node.get(part).forEach(name -> names.add(name.asText()));
    return names;
  }

  static Map<String, Object> named(List<String> names, List<Object> values) {
    Map<String, Object> found = new HashMap<>();
    for (int i = 0; i < names.size(); i++) {
      found.put(names.get(i), values == null ? null : values.get(i));
    }
    return found;
  }

  /** A key of only nulls is a null key. */
  static List<Object> nullIfAll(List<Object> key) {
    return key.stream().allMatch(java.util.Objects::isNull) ? null : key;
  }

  /** A record with a null among its group's keys is in no group. */
  static List<Object> nullIfAny(List<Object> key) {
    return key == null || key.contains(null) ? null : key;
  }
}
