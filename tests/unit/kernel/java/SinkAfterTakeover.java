package org.duolog.kernel.kafka;

import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.duolog.kernel.commit.Checkpoint;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.spec.Spec;

/**
 * Writes to a sink as the owner of the checkpoint at DIRECTORY, and after another owner has taken it over.
 *
 * <p>Prints a word for each record: {@code taken}, or {@code lost}.
 */
public final class SinkAfterTakeover {

  private SinkAfterTakeover() {}

  public static void main(String[] args) throws Exception {
    Path directory = Path.of(args[0]);
    Files.writeString(directory.resolve("owner.json"), "first");
    Checkpoint.own(args[0], "first", 1);
    Spec spec =
        Spec.parse(
            "{\"application_id\": \"a\", \"tasks\": 1, \"shuffle_partitions\": 1,"
                + "\"sinks\": [{\"id\": 0, \"topic\": \"out\"}]}");
    Map<String, String> settings =
        Map.of(
            "bootstrap.servers", "127.0.0.1:1", "max.block.ms", "1", "delivery.timeout.ms", "1",
            "request.timeout.ms", "1", "linger.ms", "0");
    Path inside = directory.resolve("spark");
    Sink sink = new Sink(spec, inside.toString(), settings, null);
    sink.open(0, 0);
    System.out.println(write(sink));
    Files.writeString(directory.resolve("owner.json"), "second");
    // Ownership is not checked for each record, but after a pause.
    System.out.println(write(sink));
    pass(Checkpoint.of(inside));
    System.out.println(write(sink));
    sink.close(new IllegalStateException());
    Producers.closeUnused();
  }

  private static String write(Sink sink) {
    Envelope record =
        Envelope.toSink(0, new byte[1], new byte[1], 0, null, null, null, Envelope.ANY_PARTITION);
    try {
      sink.process(record);
    } catch (UncheckedIOException lost) {
      return lost.getCause() instanceof Checkpoint.CheckpointLostException ? "lost" : "other";
    } catch (IllegalStateException noBroker) {
      return "taken";
    }
    return "taken";
  }

  /** Simulates ten seconds since the last check. */
  private static void pass(Checkpoint checkpoint) throws ReflectiveOperationException {
    Field provenAt = Checkpoint.class.getDeclaredField("provenAt");
    provenAt.setAccessible(true);
    provenAt.setLong(checkpoint, System.nanoTime() - 10_000_000_000L);
  }
}
