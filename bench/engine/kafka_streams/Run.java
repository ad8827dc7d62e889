import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler;

/**
 * A run of Kafka Streams over topics that are there: starts, counts, prints one JSON line, ends.
 *
 * <p>Options are {@code NAME=VALUE}: {@code bootstrap}, {@code events} (all that there are), {@code warm_up} (events before
 * the rate counts), {@code threads}, {@code settle_ms} (the end is the last result, after which none came for so long;
 * 0: the end is when all events were seen), {@code set.NAME} (a setting of Kafka Streams), and those of the topology.
 */
final class Run {
  private static final long SECONDS_MAX = 900;

  private final Map<String, String> options = new HashMap<>();
  private final LongAdder seen = new LongAdder();
  private volatile long resultAt = System.nanoTime();

  Run(String[] args, int from) {
    for (int i = from; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      options.put(args[i].substring(0, equals), args[i].substring(equals + 1));
    }
  }

  String option(String name) {
    String value = options.get(name);
    if (value == null) {
      throw new IllegalArgumentException("option \"" + name + "\" is missing");
    }
    return value;
  }

  long number(String name) {
    return Long.parseLong(option(name));
  }

  /** Returns a format whose values count as seen when they are read from this topic. */
  <T> Serde<T> source(Class<T> type, String topic) {
    return Json.of(type, from -> seen(topic, from));
  }

  /** A value was read from a topic; those of the source count as seen. */
  void seen(String source, String from) {
    if (from.equals(source)) {
      seen.increment();
    }
  }

  /** A result is on its way. */
  void result() {
    resultAt = System.nanoTime();
  }

  /** Runs until all events were seen by the sources. */
  void until(StreamsBuilder builder) throws Exception {
    until(builder, seen::sum);
  }

  /** Runs until {@code done} says that all events were done. */
  void until(StreamsBuilder builder, LongSupplier done) throws Exception {
    long events = number("events");
    long warmUp = number("warm_up");
    long settle = Long.parseLong(options.getOrDefault("settle_ms", "0")) * 1_000_000;
    KafkaStreams streams = new KafkaStreams(builder.build(), settings());
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          Runtime.getRuntime().halt(2);
          return StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    long started = System.nanoTime();
    long deadline = started + SECONDS_MAX * 1_000_000_000L;
    long warm = 0;
    long now = started;
    long count = 0;
    streams.start();
    while (count < events && now < deadline) {
      Thread.sleep(10);
      count = done.getAsLong();
      now = System.nanoTime();
      if (warm == 0 && count >= warmUp) {
        warm = now;
        warmUp = count;
      }
    }
    long ended = now;
    while (settle > 0 && now < deadline && now - Math.max(ended, resultAt) < settle) {
      Thread.sleep(10);
      now = System.nanoTime();
    }
    ended = settle > 0 ? Math.max(ended, resultAt) : ended;
    System.out.printf(
        "{\"events\": %d, \"seconds\": %.3f, \"events_per_second\": %.0f}%n",
        count, (ended - started) / 1e9, (count - warmUp) / ((ended - warm) / 1e9));
    streams.close();
    Runtime.getRuntime().halt(count >= events ? 0 : 1);
  }

  private Properties settings() throws Exception {
    Path state = Files.createTempDirectory(Path.of(option("work")), "streams");
    Properties settings = new Properties();
    settings.put("application.id", state.getFileName().toString());
    settings.put("bootstrap.servers", option("bootstrap"));
    settings.put("num.stream.threads", option("threads"));
    settings.put("auto.offset.reset", "earliest");
    settings.put("state.dir", state.toString());
    options.forEach(
        (name, value) -> {
          if (name.startsWith("set.")) {
            settings.put(name.substring(4), value);
          }
        });
    return settings;
  }
}
