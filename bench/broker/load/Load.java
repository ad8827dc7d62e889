import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A load generator that costs little: requests are bytes that were made before, one thread sends
 * them over many connections and counts the answers. No client library is between it and the
 * broker, so a figure is the broker's.
 *
 * <p>Usage: {@code Load MODE name=value ...}, MODE one of produce, fetch, mixed, paced. Prints one
 * JSON line: what was done in {@code seconds} after {@code warm-up} seconds, and how long answers
 * took.
 */
public final class Load {
  final Map<String, String> options = new HashMap<>();
  final Selector selector;
  final InetSocketAddress address;
  final Histogram answers = new Histogram();
  final Histogram deliveries = new Histogram();
  long requests;
  long records;
  long bytes;
  long fetches;
  long fetchedRecords;
  long recordsInAll;
  boolean measuring;

  private Load(String[] arguments) throws IOException {
    for (int i = 1; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      options.put(pair[0], pair[1]);
    }
    String[] place = text("address").split(":");
    address = new InetSocketAddress(place[0], Integer.parseInt(place[1]));
    selector = Selector.open();
  }

  String text(String name) {
    String value = options.get(name);
    if (value == null) {
      throw new IllegalArgumentException("option " + name + " is missing");
    }
    return value;
  }

  int integer(String name) {
    return Integer.parseInt(text(name));
  }

  int integer(String name, int otherwise) {
    return options.containsKey(name) ? integer(name) : otherwise;
  }

  public static void main(String[] arguments) throws Exception {
    Load load = new Load(arguments);
    List<Connection> connections = new ArrayList<>();
    Pacer pacer = null;
    switch (arguments[0]) {
      case "produce" -> load.addProducers(connections, load.integer("connections"));
      case "fetch" -> load.addFetchers(connections, load.integer("connections"), false);
      case "mixed" -> {
        load.addFetchers(connections, load.integer("consumers"), true);
        load.addProducers(connections, load.integer("connections"));
      }
      case "paced" -> {
        load.addFetchers(connections, 1, true);
        load.addProducers(connections, 1);
        pacer = new Pacer(load, (Fetcher) connections.get(0), (Producer) connections.get(1));
      }
      default -> throw new IllegalArgumentException("unknown mode " + arguments[0]);
    }
    load.run(connections, pacer);
  }

  private void addProducers(List<Connection> connections, int count) throws IOException {
    Frame frame = Frame.read(this);
    for (int number = 0; number < count; number++) {
      connections.add(new Producer(this, frame, number, count));
    }
  }

  private void addFetchers(List<Connection> connections, int count, boolean tail)
      throws IOException {
    for (int number = 0; number < count; number++) {
      connections.add(new Fetcher(this, number, count, tail));
    }
  }

  private void run(List<Connection> connections, Pacer pacer) throws IOException {
    long warmUp = (long) (Double.parseDouble(text("warm-up")) * 1e9);
    long length = (long) (Double.parseDouble(text("seconds")) * 1e9);
    for (Connection connection : connections) {
      connection.begin();
    }
    long started = System.nanoTime();
    long from = 0;
    long now = started;
    while (now - started < warmUp + length) {
      long wait = pacer == null ? 100 : pacer.sendDue(now);
      selector.select(key -> ((Connection) key.attachment()).ready(), Math.max(1, wait));
      now = System.nanoTime();
      if (!measuring && now - started >= warmUp) {
        measuring = true;
        from = now;
      }
    }
    report((now - from) / 1e9);
    for (Connection connection : connections) {
      connection.channel.close();
    }
  }

  private void report(double seconds) {
    System.out.printf(
        java.util.Locale.ROOT,
        "{\"seconds\": %.3f, \"requests\": %d, \"requests_per_s\": %.1f, \"records_per_s\": %.1f,"
            + " \"mb_per_s\": %.3f, \"fetches_per_s\": %.1f,"
            + " \"fetched_records_per_s\": %.1f,"
            + " \"records_in_all\": %d, \"answer_ms\": %s, \"delivery_ms\": %s}%n",
        seconds,
        requests,
        requests / seconds,
        records / seconds,
        bytes / seconds / 1e6,
        fetches / seconds,
        fetchedRecords / seconds,
        recordsInAll,
        answers,
        deliveries);
  }
}
