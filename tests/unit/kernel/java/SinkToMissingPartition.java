package org.duolog.kernel.kafka;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.spec.Spec;

/**
 * Writes two records to topic "out" of a broker: to its first partition, and to one that does not exist.
 *
 * <p>Usage: BOOTSTRAP_SERVERS. Prints why the task fails.
 */
public final class SinkToMissingPartition {
  private SinkToMissingPartition() {}

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
    try {
      sink.process(record(0));
      sink.process(record(99));
      sink.close(null);
    } catch (RecordFailedException e) {
      System.out.println(e.getMessage());
    }
    Producers.closeUnused();
  }

  private static Envelope record(int partition) {
    byte[] text = ("to " + partition).getBytes(StandardCharsets.UTF_8);
    return Envelope.toSink(0, text, text, 0, null, null, null, partition);
  }
}
