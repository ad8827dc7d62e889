import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TestOutputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.Cancellable;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.streams.test.TestRecord;

/**
 * A processor of Kafka Streams that does what its records say, in its TopologyTestDriver: what Duolog's must agree with.
 *
 * <pre>  to it    "record ts key command…", "clock ms", "begin"; tabs between     from it    "child ts key value" for each output, then "."
 * </pre>
 */
public final class ProcessorOracle {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private ProcessorOracle() {}

  /** Obeys. */
  static final class Obeying implements Processor<String, String, String, String> {
    private ProcessorContext<String, String> context;
    private KeyValueStore<String, String> kv;
    private WindowStore<String, String> windows;
    private KeyValueStore<String, ValueAndTimestamp<String>> times;
    private SessionStore<String, String> sessions;
    private VersionedKeyValueStore<String, String> versions;
    private Cancellable last;

    @Override
    public void init(ProcessorContext<String, String> context) {
      this.context = context;
      kv = context.getStateStore("kv");
      times = context.getStateStore("times");
      windows = context.getStateStore("windows");
      sessions = context.getStateStore("sessions");
      versions = context.getStateStore("versions");
      schedule("ten", 10, PunctuationType.STREAM_TIME);
      schedule("seven", 7, PunctuationType.STREAM_TIME);
      schedule("clock", 5, PunctuationType.WALL_CLOCK_TIME);
    }

    private void schedule(String name, long interval, PunctuationType type) {
      last =
          context.schedule(
              Duration.ofMillis(interval),
              type,
              now -> {
                String told = "at " + context.currentStreamTimeMs() + " " + kv.get("a");
                context.forward(new Record<>(name, told, now));
              });
    }

    @Override
    public void process(Record<String, String> record) {
      String[] words = record.value() == null ? new String[] {"nothing"} : record.value().split(" ");
      String key = record.key();
      String told = null;
      switch (words[0]) {
        case "put" -> kv.put(key, words[1]);
        case "absent" -> told = kv.putIfAbsent(key, words[1]);
        case "get" -> told = kv.get(key);
        case "delete" -> told = kv.delete(key);
        case "range" -> told = shown(kv.range(bound(words[1]), bound(words[2])));
        case "reverse" -> told = shown(kv.reverseRange(bound(words[1]), bound(words[2])));
        case "all" -> told = shown(kv.all());
        case "reverseAll" -> told = shown(kv.reverseAll());
        case "prefix" -> told = shown(kv.prefixScan(words[1], new StringSerializer()));
        case "clear" -> {
          StringBuilder all = new StringBuilder();
          try (KeyValueIterator<String, String> found = kv.range(bound(words[1]), bound(words[2]))) {
            found.forEachRemaining(row -> all.append(row.key + "=" + kv.delete(row.key) + ";"));
          }
          told = all.toString();
        }
        case "tput" -> times.put(key, ValueAndTimestamp.make(words[1], number(words[2])));
        case "tget" -> told = shown(times.get(key));
        case "tdelete" -> told = shown(times.delete(key));
        case "trange" -> {
          StringBuilder all = new StringBuilder();
          try (KeyValueIterator<String, ValueAndTimestamp<String>> found =
              times.range(bound(words[1]), bound(words[2]))) {
            found.forEachRemaining(row -> all.append(row.key + "=" + shown(row.value) + ";"));
          }
          told = all.toString();
        }
        case "wput" -> windows.put(key, nothing(words[2]), number(words[1]));
        case "wfetch" -> told = windows.fetch(key, number(words[1]));
        case "wbetween" -> {
          StringBuilder all = new StringBuilder();
          try (WindowStoreIterator<String> found =
              windows.fetch(key, number(words[1]), number(words[2]))) {
            found.forEachRemaining(row -> all.append(row.key + "=" + row.value + ";"));
          }
          told = all.toString();
        }
        case "wall" -> {
          told = windows(windows.all());
        }
        case "wrange" ->
            told =
                windows(
                    windows.fetch(
                        bound(words[1]), bound(words[2]), number(words[3]), number(words[4])));
        case "wspan" -> told = windows(windows.fetchAll(number(words[1]), number(words[2])));
        case "sremove" ->
            sessions.remove(
                new Windowed<>(key, new SessionWindow(number(words[1]), number(words[2]))));
        case "skey" -> {
          StringBuilder all = new StringBuilder();
          try (KeyValueIterator<Windowed<String>, String> found = sessions.fetch(key)) {
            found.forEachRemaining(
                row ->
                    all.append(
                        row.key.window().start() + "-" + row.key.window().end() + "=" + row.value + ";"));
          }
          told = sorted(all.toString());
        }
        case "head" -> told = shown(record.headers());
        case "nothing" -> context.forward(record.withValue(null), "left");
        case "sput" ->
            sessions.put(
                new Windowed<>(key, new SessionWindow(number(words[1]), number(words[2]))),
                nothing(words[3]));
        case "sfetch" -> told = sessions.fetchSession(key, number(words[1]), number(words[2]));
        case "sfind" -> {
          StringBuilder all = new StringBuilder();
          try (KeyValueIterator<Windowed<String>, String> found =
              sessions.findSessions(key, number(words[1]), number(words[2]))) {
            found.forEachRemaining(
                row ->
                    all.append(
                        row.key.window().start() + "-" + row.key.window().end() + "=" + row.value + ";"));
          }
          told = sorted(all.toString());
        }
        case "vput" -> versions.put(key, nothing(words[2]), number(words[1]));
        case "vget" -> told = shown(words.length == 1 ? versions.get(key) : versions.get(key, number(words[1])));
        case "vdelete" -> told = shown(versions.delete(key, number(words[1])));
        case "schedule" -> schedule("more" + words[1], number(words[1]), PunctuationType.STREAM_TIME);
        case "cancel" -> last.cancel();
        case "both" -> context.forward(record.withValue("both"));
        case "right" -> context.forward(record.withKey("r").withTimestamp(number(words[1])), "right");
        default -> throw new IllegalArgumentException(words[0]);
      }
      context.forward(record.withValue(words[0] + ": " + told), "left");
    }

    private static String windows(KeyValueIterator<Windowed<String>, String> found) {
      StringBuilder all = new StringBuilder();
      try (found) {
        found.forEachRemaining(
            row ->
                all.append(
                    row.key.key() + "@" + row.key.window().start() + "-" + row.key.window().end() + "=" + row.value + ";"));
      }
      return sorted(all.toString());
    }

    private static String shown(Headers headers) {
      StringBuilder all = new StringBuilder();
      headers.forEach(one -> all.append(one.key() + "=" + new String(one.value(), StandardCharsets.UTF_8) + ";"));
      return all.toString();
    }

    private static String bound(String word) {
      return word.equals("-") ? null : word;
    }

    private static String shown(ValueAndTimestamp<String> one) {
      return one == null ? null : one.value() + " " + one.timestamp();
    }

    private static String sorted(String rows) {
      String[] parts = rows.split(";");
      java.util.Arrays.sort(parts);
      return String.join(";", parts);
    }

    private static long number(String word) {
      return Long.parseLong(word);
    }

    private static String nothing(String word) {
      return word.equals("-") ? null : word;
    }

    private static String shown(VersionedRecord<String> one) {
      // Until when it held, its metered store does not hand on.
      return one == null ? null : one.value() + " " + one.timestamp();
    }

    private static String shown(KeyValueIterator<String, String> found) {
      StringBuilder all = new StringBuilder();
      try (found) {
        found.forEachRemaining((KeyValue<String, String> row) -> all.append(row.key + "=" + row.value + ";"));
      }
      return all.toString();
    }
  }

  /** Numbers records in a store shared with the next processor, and notes punctuations there. */
  static final class Numbering implements Processor<String, String, String, String> {
    private ProcessorContext<String, String> context;
    private KeyValueStore<String, String> kv;

    @Override
    public void init(ProcessorContext<String, String> context) {
      this.context = context;
      kv = context.getStateStore("kv");
      context.schedule(
          Duration.ofMillis(40),
          PunctuationType.STREAM_TIME,
          now -> kv.put("told", now + " " + kv.get("#a")));
    }

    @Override
    public void process(Record<String, String> record) {
      String key = "#" + record.key();
      String before = kv.get(key);
      kv.put(key, "" + (before == null ? 1 : Integer.parseInt(before) + 1));
      context.forward(record);
      if (record.value() != null && record.value().startsWith("get")) {
        context.forward(record.withValue("all"));
      }
    }
  }

  private static Topology topology() {
    var text = Serdes.String();
    Topology topology = new Topology();
    topology.addSource("in", new StringDeserializer(), new StringDeserializer(), "in");
    topology.addProcessor("numbering", Numbering::new, "in");
    topology.addProcessor("obeying", Obeying::new, "numbering");
    topology.addStateStore(
        Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("kv"), text, text),
        "obeying",
        "numbering");
    topology.addStateStore(
        Stores.timestampedKeyValueStoreBuilder(
            Stores.persistentTimestampedKeyValueStore("times"), text, text),
        "obeying");
    topology.addStateStore(
        Stores.windowStoreBuilder(
            Stores.persistentWindowStore("windows", Duration.ofMinutes(4), Duration.ofMinutes(1), false),
            text,
            text),
        "obeying");
    topology.addStateStore(
        Stores.sessionStoreBuilder(
            Stores.persistentSessionStore("sessions", Duration.ofMinutes(4)), text, text),
        "obeying");
    topology.addStateStore(
        Stores.versionedKeyValueStoreBuilder(
            Stores.persistentVersionedKeyValueStore("versions", Duration.ofMinutes(4)), text, text),
        "obeying");
    topology.addSink("left", "left", new StringSerializer(), new StringSerializer(), "obeying");
    topology.addSink("right", "right", new StringSerializer(), new StringSerializer(), "obeying");
    return topology;
  }

  private static String present(String word) {
    return word.equals("null") ? null : word;
  }

  public static void main(String[] directories) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    TopologyTestDriver driver = null;
    int begun = 0;
    for (String line; (line = in.readLine()) != null; ) {
      String[] parts = line.split("\t");
      if (parts[0].equals("begin")) {
        if (driver != null) {
          driver.close();
        }
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "verifier");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, directories[0] + "/" + begun++);
        driver = new TopologyTestDriver(topology(), settings, Instant.ofEpochMilli(0));
      } else if (parts[0].equals("clock")) {
        driver.advanceWallClockTime(Duration.ofMillis(Long.parseLong(parts[1])));
      } else {
        TestInputTopic<String, String> input =
            driver.createInputTopic("in", new StringSerializer(), new StringSerializer());
        Headers headers = new RecordHeaders();
        for (int at = 4; at < parts.length; at++) {
          headers.add("h" + at, parts[at].getBytes(StandardCharsets.UTF_8));
        }
        input.pipeInput(
            new TestRecord<>(
                present(parts[2]), present(parts[3]), headers, Long.parseLong(parts[1])));
      }
      for (String topic : new String[] {"left", "right"}) {
        TestOutputTopic<String, String> output =
            driver.createOutputTopic(topic, new StringDeserializer(), new StringDeserializer());
        output
            .readRecordsToList()
            .forEach(
                one ->
                    OUT.println(
                        String.join(
                            "\t",
                            topic,
                            one.timestamp() + "",
                            one.key() + "",
                            one.value() + "",
                            Obeying.shown(one.headers()) + "|")));
      }
      OUT.println(".");
    }
    if (driver != null) {
      driver.close();
    }
  }
}
