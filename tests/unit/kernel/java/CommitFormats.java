package org.duolog.kernel.commit;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.duolog.kernel.commit.TransactionFinisher.Part;

/**
 * Writes and reads the files and records of commits.
 *
 * <p>Arguments: a directory with {@code offsets/17} and {@code metadata} of Spark, and the input in
 * {@code entry}, {@code parts}, {@code marker} and {@code owner.json}; and a directory for what is
 * written. Both are local, and no broker is contacted.
 */
public final class CommitFormats {
  private static final String CLAIM = "0a1b2c3d-4e5f-6789-abcd-ef0123456789";
  private static final String QUERY = "6f1c1b1e-0d5a-4f0e-8f3d-2b8f6a4c9d10";
  private static final long EPOCH = 17;
  private static final Map<String, String> CLIENT = Map.of("bootstrap.servers", "localhost:9");

  private final Path in;
  private final Path out;
  private final Map<String, Object> client = new TreeMap<>(CLIENT);
  private final EpochMarkers markers = new EpochMarkers("app", client);

  private CommitFormats(Path in, Path out) {
    this.in = in;
    this.out = out;
  }

  public static void main(String[] arguments) throws Exception {
    var formats = new CommitFormats(Path.of(arguments[0]), Path.of(arguments[1]));
    formats.commitTopic();
    Path entry = formats.in.resolve("entry");
    String digest = PreparedEntry.write(entry, formats.out.resolve("prepared_entry"));
    formats.markers(digest);
    formats.parts();
    formats.owner();
    System.out.flush();
    Runtime.getRuntime().halt(0); // Without waiting for Kafka's clients.
  }

  private void commitTopic() throws Exception {
    String head = "{\"generation\": 3, \"state\": \"spark\"}";
    CommitTopic.open(in.toString(), "app-commits", head, CLIENT);
    write("commit topic", CommitTopic.inTransaction(in, EPOCH));
  }

  private void markers(String digest) throws Exception {
    List<Part> parts = EpochMarkers.parts(Files.readString(in.resolve("parts")));
    for (Part part : parts) {
      System.out.println("part " + part.id() + " " + part.producerId() + " " + part.epoch());
    }
    writeEpoch("settled", EpochMarkers.epoch(QUERY, EPOCH));
    writeEpoch("one JVM", EpochMarkers.epoch(QUERY, EPOCH, digest, null));
    writeEpoch("cluster", EpochMarkers.epoch(QUERY, EPOCH, digest, parts));
    OwnerProcess.set(4711);
    var owner = new OwnerMarker(markers, CLAIM, Path.of("/data/checkpoints/app"));
    write("owner", markers.record(EpochMarkers.OWNER, owner.marker("alpha")));
    byte[] marker = Files.readAllBytes(in.resolve("marker"));
    write("read", EpochMarkers.render(Map.of(EpochMarkers.EPOCH, markers.parse(marker))));
  }

  private void writeEpoch(String name, Map<String, Object> marker) throws Exception {
    write(name, markers.record(EpochMarkers.EPOCH, marker));
  }

  private void parts() throws Exception {
    var parts = new EpochParts(out.resolve("transactions"), "app", CLAIM, client);
    ExecutorTransactions.Claim claim = parts.claim();
    write("directory", out.relativize(Path.of(claim.directory())).toString());
    write("transactional id", ExecutorTransactions.of(claim, "1").id());
    Map<String, TransactionDescription> found = new TreeMap<>();
    found.put("app-0a1b2c3d-4e5f-1", description(TransactionState.ONGOING, 1L << 32, 3));
    found.put("app-0a1b2c3d-4e5f-2", description(TransactionState.COMPLETE_COMMIT, 41, 0));
    write("states", EpochParts.render(found));
  }

  private static TransactionDescription description(
      TransactionState state, long producer, int epoch) {
    return new TransactionDescription(
        1, state, producer, epoch, 60_000, OptionalLong.empty(), Set.of());
  }

  private void owner() throws Exception {
    Path directory = Files.createDirectory(out.resolve("owned"));
    String owner = Files.readString(in.resolve("owner.json"));
    Files.writeString(directory.resolve("owner.json"), owner);
    System.out.println("lock " + Checkpoint.lock(directory.toString()));
    long number = new ObjectMapper().readTree(owner).path("number").asLong();
    Checkpoint.own(directory.toString(), owner, number);
    System.out.println("owned " + (Checkpoint.of(directory) != null));
    Files.writeString(directory.resolve("owner.json"), owner.replace("4711", "4712"));
    try {
      Checkpoint.of(directory).ensureOwned();
      System.out.println("still owned");
    } catch (Checkpoint.CheckpointLostException lost) {
      System.out.println("lost");
    }
  }

  private void write(String name, ProducerRecord<byte[], byte[]> record) throws Exception {
    String key = new String(record.key(), StandardCharsets.UTF_8);
    System.out.println("record " + record.topic() + " " + key);
    write(name, new String(record.value(), StandardCharsets.UTF_8));
  }

  private void write(String name, String text) throws Exception {
    Files.writeString(out.resolve(name), text);
  }
}
