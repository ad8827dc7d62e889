import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/**
 * Windows of bench/windows.py for Kafka Streams: records and their sum by key and window.
 *
 * <p>Usage: {@code Windows BOOTSTRAP TOPIC EVENTS WARM_UP THREADS KIND CLOSE SIZE_MS ADVANCE_MS GRACE_MS}, KIND being
 * {@code time} or {@code session} (of gap SIZE_MS), CLOSE whether results leave on close. Prints one JSON line: the rate from the
 * moment at which WARM_UP events had been aggregated to the one at which all had.
 */
public final class Windows {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** An event. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public static final class Event {
    public Long n;
  }

  /** What is kept of a window. */
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

  private Windows() {}

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

  private static StreamsBuilder topology(String[] args, LongAdder seen) {
    EmitStrategy emit =
        Boolean.parseBoolean(args[6]) ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate();
    Duration size = Duration.ofMillis(Long.parseLong(args[7]));
    Duration advance = Duration.ofMillis(Long.parseLong(args[8]));
    Duration grace = Duration.ofMillis(Long.parseLong(args[9]));
    Serde<String> text = Serdes.String();
    Serde<Event> event = json(Event.class);
    Serde<Sum> sum = json(Sum.class);
    StreamsBuilder builder = new StreamsBuilder();
    KGroupedStream<String, Event> grouped =
        builder.stream(args[1], Consumed.with(text, event))
            .peek((key, value) -> seen.increment())
            .groupByKey(Grouped.with(text, event));
    KTable<Windowed<String>, Sum> table =
        args[5].equals("session")
            ? grouped
                .windowedBy(SessionWindows.ofInactivityGapAndGrace(size, grace))
                .emitStrategy(emit)
                .aggregate(
                    Sum::new,
                    (key, value, kept) -> kept.add(value),
                    (key, one, other) -> Sum.merged(one, other),
                    Materialized.with(text, sum))
            : grouped
                .windowedBy(TimeWindows.ofSizeAndGrace(size, grace).advanceBy(advance))
                .emitStrategy(emit)
                .aggregate(
                    Sum::new, (key, value, kept) -> kept.add(value), Materialized.with(text, sum));
    Serde<Windowed<String>> windowed =
        args[5].equals("session")
            ? WindowedSerdes.sessionWindowedSerdeFrom(String.class)
            : WindowedSerdes.timeWindowedSerdeFrom(String.class, size.toMillis());
    table.toStream().to("streams-" + args[1], Produced.with(windowed, sum));
    return builder;
  }

  /** Runs the topology until all events were aggregated. */
  public static void main(String[] args) throws Exception {
    long events = Long.parseLong(args[2]);
    long warmUp = Long.parseLong(args[3]);
    Path state = Files.createTempDirectory("windows-streams");
    Properties settings = new Properties();
    settings.put("application.id", "windows-streams-" + System.currentTimeMillis());
    settings.put("bootstrap.servers", args[0]);
    settings.put("num.stream.threads", args[4]);
    settings.put("auto.offset.reset", "earliest");
    settings.put("state.dir", state.toString());
    LongAdder seen = new LongAdder();

    KafkaStreams streams = new KafkaStreams(topology(args, seen).build(), settings);
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
    long done = 0;
    while (done < events && System.nanoTime() < deadline) {
      Thread.sleep(10);
      done = seen.sum();
      if (warm == 0 && done >= warmUp) {
        warm = System.nanoTime();
        warmUp = done;
      }
    }
    long ended = System.nanoTime();
    System.out.printf(
        "{\"events\": %d, \"seconds\": %.3f, \"events_per_second\": %.0f}%n",
        done, (ended - started) / 1e9, (done - warmUp) / ((ended - warm) / 1e9));
    streams.close();
    Runtime.getRuntime().halt(done >= events ? 0 : 1);
  }
}
