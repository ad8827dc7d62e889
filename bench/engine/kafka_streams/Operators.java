import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.time.Duration;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/**
 * The rows of bench/engine/operators.py for Kafka Streams.
 *
 * <p>Usage: {@code Operators ROW NAME=VALUE…}: the options of {@link Run}, {@code source}, {@code other} (the other side of a
 * join), {@code result}, and those of a row below.
 */
public final class Operators {
  private static final Serde<String> TEXT = Serdes.String();

  private static final Map<String, BiConsumer<Run, StreamsBuilder>> ROWS =
      Map.of(
          "stateless", Operators::stateless,
          "aggregate", Operators::aggregate,
          "stream-table", Operators::streamTable,
          "table-table", Operators::tableTable,
          "foreign-key", Operators::foreignKey,
          "window", Operators::window,
          "session", Operators::session,
          "stream-stream", Operators::streamStream);

  /** An event. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Event {
    public Long n;
    public String parent;
  }

  /** A row of the other side of a join. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Other {
    public Long m;
  }

  /** The result of a stateless step. */
  public record Doubled(Long n, Long doubled) {}

  /** The result of a join. */
  public record Pair(Long n, Long m) {
    static Pair of(Event event, Other other) {
      return new Pair(event.n, other.m);
    }
  }

  /** The state of a group. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Sum {
    public long records;
    public long total;

    Sum add(Event event) {
      records++;
      total += event.n == null ? 0 : event.n;
      return this;
    }

    static Sum merged(Sum one, Sum other) {
      Sum sum = new Sum();
      sum.records = one.records + other.records;
      sum.total = one.total + other.total;
      return sum;
    }
  }

  private Operators() {}

  private static void stateless(Run run, StreamsBuilder builder) {
    events(run, builder)
        .filter((key, event) -> event.n >= 20)
        .mapValues(event -> new Doubled(event.n, event.n * 2))
        .to(run.option("result"), Produced.with(TEXT, Json.of(Doubled.class)));
  }

  private static void aggregate(Run run, StreamsBuilder builder) {
    Serde<Sum> sum = Json.of(Sum.class);
    grouped(run, builder)
        .aggregate(Sum::new, (key, event, kept) -> kept.add(event), Materialized.with(TEXT, sum))
        .toStream()
        .to(run.option("result"), Produced.with(TEXT, sum));
  }

  private static void streamTable(Run run, StreamsBuilder builder) {
    KTable<String, Other> rows =
        builder.table(run.option("other"), Consumed.with(TEXT, Json.of(Other.class)));
    events(run, builder)
        .join(rows, Pair::of, Joined.with(TEXT, Json.of(Event.class), Json.of(Other.class)))
        .to(run.option("result"), pairs());
  }

  private static void tableTable(Run run, StreamsBuilder builder) {
    left(run, builder)
        .join(right(run, builder), Pair::of)
        .toStream()
        .to(run.option("result"), pairs());
  }

  private static void foreignKey(Run run, StreamsBuilder builder) {
    left(run, builder)
        .join(right(run, builder), event -> event.parent, Pair::of)
        .toStream()
        .peek((key, pair) -> run.result())
        .to(run.option("result"), pairs());
  }

  /** Options: size_ms, advance_ms, grace_ms, close (true: results leave on close). */
  private static void window(Run run, StreamsBuilder builder) {
    Serde<Sum> sum = Json.of(Sum.class);
    Duration size = duration(run, "size_ms");
    KTable<Windowed<String>, Sum> table =
        grouped(run, builder)
            .windowedBy(
                TimeWindows.ofSizeAndGrace(size, duration(run, "grace_ms"))
                    .advanceBy(duration(run, "advance_ms")))
            .emitStrategy(emit(run))
            .aggregate(
                Sum::new, (key, event, kept) -> kept.add(event), Materialized.with(TEXT, sum));
    Serde<Windowed<String>> key =
        WindowedSerdes.timeWindowedSerdeFrom(String.class, size.toMillis());
    table.toStream().to(run.option("result"), Produced.with(key, sum));
  }

  /** Options: size_ms (the gap), grace_ms, close. */
  private static void session(Run run, StreamsBuilder builder) {
    Serde<Sum> sum = Json.of(Sum.class);
    SessionWindows windows =
        SessionWindows.ofInactivityGapAndGrace(duration(run, "size_ms"), duration(run, "grace_ms"));
    KTable<Windowed<String>, Sum> table =
        grouped(run, builder)
            .windowedBy(windows)
            .emitStrategy(emit(run))
            .aggregate(
                Sum::new,
                (key, event, kept) -> kept.add(event),
                (key, one, other) -> Sum.merged(one, other),
                Materialized.with(TEXT, sum));
    Serde<Windowed<String>> key = WindowedSerdes.sessionWindowedSerdeFrom(String.class);
    table.toStream().to(run.option("result"), Produced.with(key, sum));
  }

  /** Options: size_ms (how far apart two records may be), grace_ms. */
  private static void streamStream(Run run, StreamsBuilder builder) {
    String other = run.option("other");
    KStream<String, Other> others =
        builder.stream(other, Consumed.with(TEXT, run.source(Other.class, other)));
    JoinWindows windows =
        JoinWindows.ofTimeDifferenceAndGrace(duration(run, "size_ms"), duration(run, "grace_ms"));
    events(run, builder)
        .join(
            others,
            Pair::of,
            windows,
            StreamJoined.with(TEXT, Json.of(Event.class), Json.of(Other.class)))
        .to(run.option("result"), pairs());
  }

  private static KStream<String, Event> events(Run run, StreamsBuilder builder) {
    String source = run.option("source");
    return builder.stream(source, Consumed.with(TEXT, run.source(Event.class, source)));
  }

  private static KGroupedStream<String, Event> grouped(Run run, StreamsBuilder builder) {
    return events(run, builder).groupByKey(Grouped.with(TEXT, Json.of(Event.class)));
  }

  private static KTable<String, Event> left(Run run, StreamsBuilder builder) {
    String source = run.option("source");
    return builder.table(source, Consumed.with(TEXT, run.source(Event.class, source)));
  }

  private static KTable<String, Other> right(Run run, StreamsBuilder builder) {
    String other = run.option("other");
    return builder.table(other, Consumed.with(TEXT, run.source(Other.class, other)));
  }

  private static Produced<String, Pair> pairs() {
    return Produced.with(TEXT, Json.of(Pair.class));
  }

  private static Duration duration(Run run, String option) {
    return Duration.ofMillis(run.number(option));
  }

  private static EmitStrategy emit(Run run) {
    return Boolean.parseBoolean(run.option("close"))
        ? EmitStrategy.onWindowClose()
        : EmitStrategy.onWindowUpdate();
  }

  /** Runs a row until all its events were seen. */
  public static void main(String[] args) throws Exception {
    Run run = new Run(args, 1);
    StreamsBuilder builder = new StreamsBuilder();
    ROWS.get(args[0]).accept(run, builder);
    run.until(builder);
  }
}
