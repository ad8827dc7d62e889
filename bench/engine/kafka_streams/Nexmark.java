import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindowedSerializer;
import org.apache.kafka.streams.kstream.TimeWindowedDeserializer;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;

/**
 * Queries of bench/engine/nexmark.py for Kafka Streams, over its topics, with results of the same form.
 *
 * <p>Usage: {@code Nexmark QUERY NAME=VALUE…}: the options of {@link Run}, and {@code result}.
 */
public final class Nexmark {
  private static final Serde<Long> LONG = Serdes.Long();
  private static final Duration WINDOW = Duration.ofSeconds(10);
  private static final Set<String> STATES = Set.of("OR", "ID", "CA");

  private static final Map<String, BiConsumer<Run, StreamsBuilder>> QUERIES =
      Map.of(
          "q0", Nexmark::q0,
          "q1", Nexmark::q1,
          "q2", Nexmark::q2,
          "q3", Nexmark::q3,
          "q4", Nexmark::q4,
          "q7", Nexmark::q7,
          "q8", Nexmark::q8);

  /** Who sells and bids. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Person(String name, String city, String state, long date_time) {}

  /** An item for sale. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Auction(
      String item,
      long initial_bid,
      long reserve,
      long date_time,
      long expires,
      long seller,
      long category) {}

  /** A bid for an auction. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Bid(long bidder, long price, String channel, long date_time) {}

  /** A bid in another currency. */
  public record Converted(long bidder, double price, String channel, long date_time) {}

  /** A price alone. */
  public record Price(long price) {}

  /** The address of a seller. */
  public record Seller(String name, String city, String state) {}

  /** A bid and what its auction says. */
  public record Valid(long price, long opens, long expires, long category, long date_time) {
    boolean isInTime() {
      return opens <= date_time && date_time <= expires;
    }
  }

  /** The highest bid for an auction. */
  public record Winning(long category, long price) {}

  /** The mean of a category. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Mean(long sum, long count) {
    public double getAverage() {
      return (double) sum / count;
    }

    Mean plus(long price, long one) {
      return new Mean(sum + price, count + one);
    }
  }

  /** A bid with its auction, in the form of {@code top_k}. */
  public record Top(long sort_col, long col0) {}

  /** The highest bid of a window. */
  public record Highest(java.util.List<Top> highest) {
    Highest with(Top top) {
      if (highest.isEmpty() || isLess(highest.get(0), top)) {
        return new Highest(java.util.List.of(top));
      }
      return this;
    }

    private static boolean isLess(Top one, Top other) {
      return one.sort_col != other.sort_col
          ? one.sort_col < other.sort_col
          : one.col0 < other.col0;
    }
  }

  /** A name. */
  public record Name(String name) {}

  private Nexmark() {}

  private static void q0(Run run, StreamsBuilder builder) {
    bids(run, builder).to(run.option("result"), Produced.with(LONG, Json.of(Bid.class)));
  }

  private static void q1(Run run, StreamsBuilder builder) {
    bids(run, builder)
        .mapValues(bid -> new Converted(bid.bidder, bid.price * 0.908, bid.channel, bid.date_time))
        .to(run.option("result"), Produced.with(LONG, Json.of(Converted.class)));
  }

  private static void q2(Run run, StreamsBuilder builder) {
    bids(run, builder)
        .filter((auction, bid) -> auction % 123 == 0)
        .mapValues(bid -> new Price(bid.price))
        .to(run.option("result"), Produced.with(LONG, Json.of(Price.class)));
  }

  private static void q3(Run run, StreamsBuilder builder) {
    KTable<Long, Person> people =
        builder
            .table("people", Consumed.with(LONG, run.source(Person.class, "people")))
            .filter((id, person) -> STATES.contains(person.state));
    auctions(run, builder)
        .filter((id, auction) -> auction.category == 10)
        .join(
            people,
            Auction::seller,
            (auction, person) -> new Seller(person.name, person.city, person.state))
        .toStream()
        .peek((id, seller) -> run.result())
        .to(run.option("result"), Produced.with(LONG, Json.of(Seller.class)));
  }

  private static void q4(Run run, StreamsBuilder builder) {
    Serde<Winning> winning = Json.of(Winning.class);
    Serde<Mean> mean = Json.of(Mean.class);
    bids(run, builder)
        .join(
            auctions(run, builder),
            (bid, auction) ->
                new Valid(
                    bid.price,
                    auction.date_time,
                    auction.expires,
                    auction.category,
                    bid.date_time),
            Joined.with(LONG, Json.of(Bid.class), Json.of(Auction.class)))
        .filter((auction, bid) -> bid.isInTime())
        .mapValues(bid -> new Winning(bid.category, bid.price))
        .groupByKey(Grouped.with(LONG, winning))
        .reduce(
            (one, other) -> one.price >= other.price ? one : other,
            Materialized.with(LONG, winning))
        .groupBy(
            (auction, bid) -> KeyValue.pair(bid.category, bid), Grouped.with(LONG, winning))
        .aggregate(
            () -> new Mean(0, 0),
            (category, bid, kept) -> kept.plus(bid.price, 1),
            (category, bid, kept) -> kept.plus(-bid.price, -1),
            Materialized.with(LONG, mean))
        .toStream()
        .peek((category, kept) -> run.result())
        .to(run.option("result"), Produced.with(LONG, mean));
  }

  private static void q7(Run run, StreamsBuilder builder) {
    Serde<Top> top = Json.of(Top.class);
    Serde<Highest> highest = Json.of(Highest.class);
    bids(run, builder)
        .map((auction, bid) -> KeyValue.pair(0L, new Top(bid.price, auction)))
        .groupByKey(Grouped.with(LONG, top))
        .windowedBy(windows())
        .aggregate(
            () -> new Highest(java.util.List.of()),
            (key, bid, kept) -> kept.with(bid),
            Materialized.with(LONG, highest))
        .toStream()
        .peek((window, kept) -> run.result())
        .to(run.option("result"), Produced.with(windowed(), highest));
  }

  private static void q8(Run run, StreamsBuilder builder) {
    Serde<Name> name = Json.of(Name.class);
    Serde<Auction> auction = Json.of(Auction.class);
    KTable<Windowed<Long>, Name> people =
        builder.stream("people", Consumed.with(LONG, run.source(Person.class, "people")))
            .mapValues(person -> new Name(person.name))
            .groupByKey(Grouped.with(LONG, name))
            .windowedBy(windows())
            .reduce((one, other) -> other, Materialized.with(LONG, name));
    KTable<Windowed<Long>, Long> sellers =
        builder.stream("auctions", Consumed.with(LONG, run.source(Auction.class, "auctions")))
            .groupBy((id, each) -> each.seller, Grouped.with(LONG, auction))
            .windowedBy(windows())
            .count();
    people
        .join(sellers, (person, count) -> person)
        .toStream()
        .peek((window, person) -> run.result())
        .to(run.option("result"), Produced.with(windowed(), name));
  }

  private static KStream<Long, Bid> bids(Run run, StreamsBuilder builder) {
    return builder.stream("bids", Consumed.with(LONG, run.source(Bid.class, "bids")));
  }

  private static KTable<Long, Auction> auctions(Run run, StreamsBuilder builder) {
    return builder.table("auctions", Consumed.with(LONG, run.source(Auction.class, "auctions")));
  }

  private static TimeWindows windows() {
    return TimeWindows.ofSizeAndGrace(WINDOW, Duration.ofSeconds(10));
  }

  private static Serde<Windowed<Long>> windowed() {
    return Serdes.serdeFrom(
        new TimeWindowedSerializer<>(LONG.serializer()),
        new TimeWindowedDeserializer<>(LONG.deserializer(), WINDOW.toMillis()));
  }

  /** Runs a query until all events that it reads were seen. */
  public static void main(String[] args) throws Exception {
    Run run = new Run(args, 1);
    StreamsBuilder builder = new StreamsBuilder();
    QUERIES.get(args[0]).accept(run, builder);
    run.until(builder);
  }
}
