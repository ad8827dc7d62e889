import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.TimeWindowedKStream;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.UnlimitedWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** Aggregates in windows; their keys are {@code Windowed}, which {@link Json#cells} shows as Duolog does. */
final class WindowedFolds {
  private final JsonNode node;
  private final JsonNode of;
  private final KGroupedStream<Object, Json.Row> grouped;
  private final Fold fold;
  private final boolean unmodified;

  WindowedFolds(JsonNode node, KGroupedStream<Object, Json.Row> grouped, Fold fold) {
    this.node = node;
    this.of = node.get("windows");
    this.grouped = grouped;
    this.fold = fold;
    this.unmodified = node.get("unmodified").asBoolean();
  }

  KTable<Object, Json.Row> table() {
    return switch (of.get("kind").asText()) {
      case "TimeWindows" -> of.get("offset_ms").asLong() == 0
          ? in(grouped.windowedBy(hopping()), null)
          : in(grouped.windowedBy(new CustomWindows(of)), null);
      case "CalendarWindows" -> in(grouped.windowedBy(new CustomWindows(of)), null);
      case "UnlimitedWindows" -> in(grouped.windowedBy(unlimited()), null);
      case "SlidingWindows" -> sliding();
      case "SessionWindows" -> sessions();
      default -> throw new IllegalArgumentException("no windows " + of);
    };
  }

  private TimeWindows hopping() {
    return TimeWindows.ofSizeAndGrace(duration("size_ms"), duration("grace_ms"))
        .advanceBy(duration("advance_ms"));
  }

  private UnlimitedWindows unlimited() {
    return UnlimitedWindows.of().startOn(Instant.ofEpochMilli(of.get("start_ms").asLong()));
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private KTable<Object, Json.Row> in(
      TimeWindowedKStream<Object, Json.Row> windowed, Duration retention) {
    var store =
        Materialized
            .<Object, Json.Row, WindowStore<Bytes, byte[]>>as(node.get("store").asText())
            .withKeySerde(Json.KEYS)
            .withValueSerde(Json.ROWS);
    if (retention != null) {
      store = store.withRetention(retention);
    }
    var emitted = windowed.emitStrategy(emitInWindows(node, store));
    retain(node, store);
    return (KTable) emitted.aggregate(fold::initial, fold::add, store);
  }

  /** Whatever a window can be made of is kept: Streams lets the last of it go a moment early. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private KTable<Object, Json.Row> sliding() {
    Duration difference = duration("difference_ms");
    Duration grace = duration("grace_ms");
    KTable<Object, Json.Row> kept =
        in(
            grouped.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(difference, grace)),
            unmodified ? null : difference.multipliedBy(4).plus(grace).plusMillis(2));
    return unmodified || node.get("on_close").asBoolean()
        ? kept
        : withOldValues(
            kept, new WindowedSerdes.TimeWindowedSerde<>(Json.KEYS, difference.toMillis()));
  }

  /**
   * Without a record cache, Streams forwards as the old value of a window that of another window from which
   * it was created, and none for a session that keeps its bounds. A table of the results has the right ones.
   */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private KTable<Object, Json.Row> withOldValues(KTable<Object, Json.Row> kept, Serde keys) {
    Materialized store =
        Materialized
            .<Object, Json.Row, KeyValueStore<Bytes, byte[]>>as(node.get("store").asText() + "-2")
            .withKeySerde(keys)
            .withValueSerde(Json.ROWS)
            .withCachingDisabled();
    return kept.toStream().toTable(store);
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private KTable<Object, Json.Row> sessions() {
    Duration gap = duration("gap_ms");
    Duration grace = duration("grace_ms");
    var store =
        Materialized
            .<Object, Json.Row, SessionStore<Bytes, byte[]>>as(node.get("store").asText())
            .withKeySerde(Json.KEYS)
            .withValueSerde(Json.ROWS);
    if (!unmodified) {
      // In memory, what is open is then what is kept.
      store.withRetention(gap.plus(grace).plusMillis(1));
    }
    retain(node, store);
    KTable<Object, Json.Row> kept =
        (KTable)
            grouped
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(gap, grace))
                .emitStrategy(emit(node, store))
                .aggregate(fold::initial, fold::add, fold::merge, store);
    return unmodified || node.get("on_close").asBoolean()
        ? kept
        : withOldValues(kept, new WindowedSerdes.SessionWindowedSerde<>(Json.KEYS));
  }

  /** As long as the plan says, where it does. */
  static void retain(JsonNode node, Materialized<?, ?, ?> store) {
    if (!node.get("retention").isNull()) {
      store.withRetention(Duration.ofMillis(node.get("retention").asLong()));
    }
  }

  /** As {@link #emit}; Streams loses what closes when time jumps on by more than size and grace period. */
  static EmitStrategy emitInWindows(JsonNode node, Materialized<?, ?, ?> store) {
    if (node.get("on_close").asBoolean() && !node.get("unmodified").asBoolean()) {
      store.withRetention(Duration.ofDays(1));
    }
    return emit(node, store);
  }

  /** Only the store that users get keeps results on close in the order in which they leave. */
  static EmitStrategy emit(JsonNode node, Materialized<?, ?, ?> store) {
    if (!node.get("on_close").asBoolean()) {
      return EmitStrategy.onWindowUpdate();
    }
    store.withStoreType(BuiltInDslStoreSuppliers.ROCKS_DB);
    return EmitStrategy.onWindowClose();
  }

  private Duration duration(String field) {
    return Duration.ofMillis(of.get(field).asLong());
  }
}
