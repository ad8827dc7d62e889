import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/** A produce request of one batch, and the positions of its parts. */
final class Frame {
  private static final int CRC_AT = 17;
  private static final int CRC_FROM = 21;
  private static final int PRODUCER_ID_AT = 43;

  final byte[] content;
  final int partitionAt;
  final int batchAt;
  final int batchBytes;
  final int recordCount;
  final int errorAt;

  private Frame(Load load, byte[] content) {
    this.content = content;
    partitionAt = load.integer("partition-at");
    batchAt = load.integer("batch-at");
    batchBytes = load.integer("batch-bytes");
    recordCount = load.integer("batch-records");
    // Correlation id, tags, topics, name with its length, partitions, index.
    errorAt = 4 + 1 + 1 + 1 + load.text("topic").length() + 1 + 4;
  }

  static Frame read(Load load) throws IOException {
    return new Frame(load, Files.readAllBytes(Path.of(load.text("frame"))));
  }

  /** Give the batch of the frame at {@code start} a sequence number, and its checksum. */
  void number(ByteBuffer frames, int start, long producerId, int sequence) {
    int batch = start + batchAt;
    frames.putLong(batch + PRODUCER_ID_AT, producerId);
    frames.putShort(batch + PRODUCER_ID_AT + 8, (short) 0);
    frames.putInt(batch + PRODUCER_ID_AT + 10, sequence);
    CRC32C crc = new CRC32C();
    crc.update(frames.duplicate().limit(batch + batchBytes).position(batch + CRC_FROM));
    frames.putInt(batch + CRC_AT, (int) crc.getValue());
  }
}
