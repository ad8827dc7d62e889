import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * The demo's topology written for Kafka Streams, to measure Duolog against: flights joined with
 * their airline and their destination airport, aggregated by destination and by airline.
 *
 * <p>Usage: {@code Flights NAME=VALUE…}, with the options of {@link Run}. The rate counts from the
 * moment at which both aggregates had seen warm_up events to the one at which both had seen them all.
 */
public final class Flights {
  /** A flight, and what the joins add to it. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Flight {
    public Long flight;
    public String tailnum;
    public String origin;
    public String dest;
    public Long dep_delay;
    public Long arr_delay;
    public Long distance;
    public Long produced_at;
    public String airline_name;
    public String airport_name;
  }

  /** A row of the tables that are looked up. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Named {
    public String name;
  }

  /** Flights, and delays where a flight has one: cancelled flights have none. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Delays {
    public String name;
    public long flights;
    public Long delay_sum;
    public long delay_count;
    public Long delay_max;
    public Long last_produced_at;

    public Double getDelay_mean() {
      return delay_count == 0 ? null : (double) delay_sum / delay_count;
    }

    Delays add(String name, Flight flight) {
      this.name = name;
      flights++;
      if (flight.dep_delay != null) {
        delay_count++;
        delay_sum = delay_sum == null ? flight.dep_delay : delay_sum + flight.dep_delay;
        delay_max = delay_max == null ? flight.dep_delay : Math.max(delay_max, flight.dep_delay);
      }
      if (flight.produced_at != null) {
        last_produced_at =
            last_produced_at == null
                ? flight.produced_at
                : Math.max(last_produced_at, flight.produced_at);
      }
      return this;
    }
  }

  private Flights() {}

  private static StreamsBuilder topology(LongAdder byDest, LongAdder byAirline) {
    Serde<String> text = Serdes.String();
    Serde<Flight> flight = Json.of(Flight.class);
    Serde<Named> named = Json.of(Named.class);
    Serde<Delays> delays = Json.of(Delays.class);

    StreamsBuilder builder = new StreamsBuilder();
    KTable<String, Named> airlines = builder.table("streams-airlines", Consumed.with(text, named));
    KTable<String, Named> airports = builder.table("streams-airports", Consumed.with(text, named));
    KStream<String, Flight> withAirline =
        builder.stream("flights", Consumed.with(text, flight))
            .leftJoin(
                airlines,
                (f, airline) -> {
                  f.airline_name = airline == null ? null : airline.name;
                  return f;
                },
                Joined.with(text, flight, named));
    withAirline
        .groupByKey(Grouped.with(text, flight))
        .aggregate(
            Delays::new,
            (carrier, f, sum) -> {
              byAirline.increment();
              return sum.add(f.airline_name, f);
            },
            Materialized.with(text, delays))
        .toStream()
        .to("streams-flights-by-airline", Produced.with(text, delays));
    withAirline
        .selectKey((carrier, f) -> f.dest)
        .leftJoin(
            airports,
            (f, airport) -> {
              f.airport_name = airport == null ? null : airport.name;
              return f;
            },
            Joined.with(text, flight, named))
        .groupByKey(Grouped.with(text, flight))
        .aggregate(
            Delays::new,
            (dest, f, sum) -> {
              byDest.increment();
              return sum.add(f.airport_name, f);
            },
            Materialized.with(text, delays))
        .toStream()
        .to("streams-flights-by-destination", Produced.with(text, delays));
    return builder;
  }

  /** Runs the topology until both aggregates have seen all events. */
  public static void main(String[] args) throws Exception {
    LongAdder byDest = new LongAdder();
    LongAdder byAirline = new LongAdder();
    new Run(args, 0)
        .until(
            topology(byDest, byAirline), () -> Math.min(byDest.sum(), byAirline.sum()));
  }
}
