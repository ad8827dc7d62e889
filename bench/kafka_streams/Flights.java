import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
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
 * <p>Usage: {@code Flights BOOTSTRAP EVENTS WARM_UP THREADS}. Prints one JSON line: the rate from
 * the moment at which both aggregates had seen WARM_UP events to the one at which both had seen
 * them all.
 */
public final class Flights {
  private static final ObjectMapper JSON = new ObjectMapper();

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

  private static <T> Serde<T> json(Class<T> type) {
    ObjectReader reader = JSON.readerFor(type);
    ObjectWriter writer = JSON.writerFor(type);
    return Serdes.serdeFrom(
        (topic, value) -> {
          try {
            return value == null ? null : writer.writeValueAsBytes(value);
          } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
          }
        },
        (topic, bytes) -> {
          try {
            return bytes == null ? null : reader.readValue(bytes);
          } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
          }
        });
  }

  private static StreamsBuilder topology(LongAdder byDest, LongAdder byAirline) {
    Serde<String> text = Serdes.String();
    Serde<Flight> flight = json(Flight.class);
    Serde<Named> named = json(Named.class);
    Serde<Delays> delays = json(Delays.class);

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
    long events = Long.parseLong(args[1]);
    long warmUp = Long.parseLong(args[2]);
    Path state = Files.createTempDirectory("flights-streams");
    Properties settings = new Properties();
    settings.put("application.id", "flights-streams-" + System.currentTimeMillis());
    settings.put("bootstrap.servers", args[0]);
    settings.put("num.stream.threads", args[3]);
    settings.put("auto.offset.reset", "earliest");
    settings.put("state.dir", state.toString());
    LongAdder byDest = new LongAdder();
    LongAdder byAirline = new LongAdder();

    KafkaStreams streams = new KafkaStreams(topology(byDest, byAirline).build(), settings);
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          Runtime.getRuntime().halt(2);
          return StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    long started = System.nanoTime();
    long deadline = started + 900_000_000_000L;
    long warm = 0;
    streams.start();
    long seen = 0;
    while (seen < events && System.nanoTime() < deadline) {
      Thread.sleep(10);
      seen = Math.min(byDest.sum(), byAirline.sum());
      if (warm == 0 && seen >= warmUp) {
        warm = System.nanoTime();
        warmUp = seen;
      }
    }
    long ended = System.nanoTime();
    System.out.printf(
        "{\"events\": %d, \"seconds\": %.3f, \"events_per_second\": %.0f}%n",
        seen, (ended - started) / 1e9, (seen - warmUp) / ((ended - warm) / 1e9));
    streams.close();
    Runtime.getRuntime().halt(seen >= events ? 0 : 1);
  }
}
