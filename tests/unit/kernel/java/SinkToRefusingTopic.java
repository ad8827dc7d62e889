package org.duolog.kernel.kafka;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.spec.Spec;

/**
 * Writes batches to topic "out", whose last records have a timestamp that the broker refuses.
 *
 * <p>Usage: BOOTSTRAP_SERVERS. Prints why the task fails.
 */
public final class SinkToRefusingTopic {
  private static final long YEAR_MS = 31_536_000_000L;

  private SinkToRefusingTopic() {}

  public static void main(String[] args) {
    Spec spec =
        Spec.parse(
            "{\"application_id\": \"a\", \"tasks\": 1, \"shuffle_partitions\": 1,"
                + "\"sources\": [{\"id\": 0, \"topic\": \"in\"}],"
                + "\"errors\": {\"deserialization\": \"log_and_fail\","
                + " \"processing\": \"log_and_fail\", \"production\": \"log_and_fail\"},"
                + "\"sinks\": [{\"id\": 0, \"topic\": \"out\"}]}");
    Sink sink = new Sink(spec, "/nowhere", Map.of("bootstrap.servers", args[0]), null);
    sink.open(0, 0);
    long now = System.currentTimeMillis();
    try {
      for (int i = 0; i < 2_000; i++) {
        sink.process(record(i % 100 < 98 ? now : now + YEAR_MS));
      }
      sink.close(null);
    } catch (RuntimeException e) {
      System.out.println(e.getMessage());
    }
    Producers.closeUnused();
  }

  private static Envelope record(long timestamp) {
    byte[] text = "x".getBytes(StandardCharsets.UTF_8);
    return Envelope.toSink(0, text, text, timestamp, null, null, null, 0);
  }
}
