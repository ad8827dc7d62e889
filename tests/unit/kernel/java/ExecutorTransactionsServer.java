package org.duolog.kernel.commit;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * A driver and its executors in one JVM, controlled line by line: {@code ["method", argument…]}, answered by {@code
 * {"value": …}} or {@code {"error": class, "message": …}}. The program's argument has the settings of Kafka's clients.
 */
public final class ExecutorTransactionsServer {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static Map<String, String> settings;
  private static Map<String, ExecutorTransactions.Claim> claims = new HashMap<>();

  private ExecutorTransactionsServer() {}

  @SuppressWarnings("unchecked")
  public static void main(String[] args) throws Exception {
    settings = MAPPER.readValue(args[0], Map.class);
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      Map<String, Object> answer = new HashMap<>();
      try {
        answer.put("value", done(MAPPER.readValue(line, List.class)));
      } catch (Exception failed) {
        answer.put("error", failed.getClass().getSimpleName());
        answer.put("message", String.valueOf(failed.getMessage()));
      }
      System.out.println(MAPPER.writeValueAsString(answer));
    }
    Runtime.getRuntime().halt(0);
  }

  private static Object done(List<Object> words) throws Exception {
    String first = words.size() > 1 ? String.valueOf(words.get(1)) : "";
    switch ((String) words.get(0)) {
      case "markers":
        return Transactions.markers(first, settings);
      case "open":
        return opened(first, words);
      case "describe":
        return Transactions.describe(first, settings);
      case "commitParts":
        Transactions.commitParts(first, settings);
        return null;
      case "abortParts":
        Transactions.abortParts(first, settings);
        return null;
      case "mark":
        Transactions.mark(first, (String) words.get(2), number(words.get(3)));
        return null;
      case "endOthers":
        Transactions.endOthers(first, settings);
        return null;
      case "close":
        Transactions.close(first);
        return null;
      case "write":
        return written(
            first,
            (String) words.get(2),
            number(words.get(3)),
            new ProducerRecord<>(
                (String) words.get(4),
                ((String) words.get(5)).getBytes(StandardCharsets.UTF_8),
                new byte[1]));
      case "prepare":
        of(first).prepare(number(words.get(2)), Path.of((String) words.get(3)), new PendingSyncs(Path.of(first)));
        return null;
      case "commit":
        of(first).commit(number(words.get(2)));
        return null;
      case "committed":
        of(first).committed();
        return null;
      case "fence":
        // As the broker does with a transaction that takes too long.
        try (Admin admin = Admin.create(new HashMap<String, Object>(settings))) {
          admin.fenceProducers(List.of(first)).all().get();
        }
        return null;
      default:
        throw new IllegalArgumentException(String.valueOf(words));
    }
  }

  private static String opened(String checkpoint, List<Object> words) throws Exception {
    boolean clustered = (Boolean) words.get(4);
    String found =
        Transactions.open(
            checkpoint, (String) words.get(2), (String) words.get(3), settings, clustered);
    if (clustered) {
      claims.put(checkpoint, of(checkpoint).parts().claim());
    }
    return found;
  }

  /** Writes a record as a task of an executor does, and reports it to the driver; returns the transactional id. */
  private static String written(
      String checkpoint, String executor, long epoch, ProducerRecord<byte[], byte[]> record)
      throws Exception {
    ExecutorTransactions.Claim claim = claims.get(checkpoint);
    ExecutorTransactions here = ExecutorTransactions.of(claim, executor);
    here.begin(epoch);
    here.producer().send(record).get();
    claim.report(epoch, here.id());
    return here.id();
  }

  private static Transactions of(String checkpoint) {
    return Transactions.of(Path.of(checkpoint));
  }

  private static long number(Object word) {
    return ((Number) word).longValue();
  }
}
