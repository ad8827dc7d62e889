package org.duolog.kernel.kafka;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.spark.TaskContext$;
import org.duolog.kernel.commit.EpochBrokenException;
import org.duolog.kernel.commit.Transactions;
import org.duolog.kernel.spec.Spec;

/**
 * Opens the exactly-once sink of a query, and that of the next query, on the same checkpoint.
 *
 * <p>Usage: BOOTSTRAP_SERVERS DIRECTORY. Prints a word for each: {@code open}, or {@code over}.
 */
public final class SinkAfterNextStart {
  private SinkAfterNextStart() {}

  public static void main(String[] args) throws Exception {
    Path checkpoint = Files.createDirectories(Path.of(args[1]).resolve("spark"));
    Spec spec =
        Spec.parse(
            "{\"application_id\": \"a\", \"tasks\": 1, \"shuffle_partitions\": 1,"
                + "\"exactly_once\": true, \"sinks\": [{\"id\": 0, \"topic\": \"out\"}]}");
    Map<String, String> settings =
        Map.of(
            "bootstrap.servers", args[0],
            "transaction.timeout.ms", "60000",
            "enable.idempotence", "true");
    TaskContext$.MODULE$.setTaskContext(TaskContext$.MODULE$.empty());
    Sink first = sink(spec, checkpoint, settings);
    System.out.println(opened(first));
    Sink second = sink(spec, checkpoint, settings);
    System.out.println(opened(first));
    System.out.println(opened(second));
    Transactions.close(checkpoint.toString());
    Producers.closeUnused();
  }

  private static Sink sink(Spec spec, Path checkpoint, Map<String, String> settings)
      throws Exception {
    Transactions.open(checkpoint.toString(), "a", "here", settings);
    return new Sink(spec, checkpoint.toString(), settings, null);
  }

  private static String opened(Sink sink) {
    try {
      sink.open(0, 0);
      return "open";
    } catch (EpochBrokenException ended) {
      return ended.getMessage().equals("a task of a query that has ended") ? "over" : "broken";
    }
  }
}
