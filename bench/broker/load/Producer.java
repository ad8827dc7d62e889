import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Keeps a number of produce requests in flight. The requests are in a ring of frames, partition
 * after partition; one write sends as many as may go. A producer with an id numbers its batches.
 */
final class Producer extends Connection {
  private final Frame frame;
  private final int inFlightMax;
  private final int partitions;
  private final int slots;
  private final ByteBuffer ring;
  private final int[] sequences;
  private final long producerId;
  private final long[] sentAt;
  private long asked;
  private long written;
  private long done;
  private int partOfFrame;

  /** Makes the producer that has the partitions number, number + count, number + 2 * count ... */
  Producer(Load load, Frame frame, int number, int count) throws IOException {
    super(load, 1 << 16);
    this.frame = frame;
    inFlightMax = load.integer("in-flight");
    int all = load.integer("partitions");
    partitions = Math.max(1, (all - number % all + count - 1) / count);
    slots = (inFlightMax + partitions - 1) / partitions * partitions;
    int size = frame.content.length;
    ring = ByteBuffer.allocateDirect(slots * size);
    for (int slot = 0; slot < slots; slot++) {
      ring.put(frame.content);
      ring.putInt(slot * size + frame.partitionAt, number % all + slot % partitions * count);
    }
    sequences = new int[partitions];
    int first = load.integer("producer-id", -1);
    producerId = first < 0 ? -1 : first + number;
    sentAt = new long[inFlightMax];
  }

  @Override
  void begin() throws IOException {
    if (load.integer("rate", 0) == 0) {
      goOn();
      flush();
    }
  }

  /** Let one more request go. */
  void sendOne() throws IOException {
    if (asked - done < inFlightMax) {
      ask(System.nanoTime());
      flush();
    }
  }

  long askedTimes() {
    return asked;
  }

  @Override
  void answered(ByteBuffer buffer, int start, int size) {
    int error = buffer.getShort(start + frame.errorAt);
    if (error != 0) {
      throw new IllegalStateException("the broker answered with error " + error);
    }
    int place = (int) (done++ % inFlightMax);
    load.recordsInAll += frame.recordCount;
    if (load.measuring) {
      load.requests++;
      load.records += frame.recordCount;
      load.bytes += frame.batchBytes;
      load.answers.add(System.nanoTime() - sentAt[place]);
    }
  }

  @Override
  void goOn() throws IOException {
    if (load.integer("rate", 0) > 0) {
      return;
    }
    long now = System.nanoTime();
    while (asked - done < inFlightMax) {
      ask(now);
    }
  }

  private void ask(long now) {
    sentAt[(int) (asked % inFlightMax)] = now;
    if (producerId >= 0) {
      int slot = (int) (asked % slots);
      int partition = slot % partitions;
      ring.clear();
      frame.number(ring, slot * frame.content.length, producerId, sequences[partition]);
      sequences[partition] += frame.recordCount;
    }
    asked++;
  }

  @Override
  boolean write() throws IOException {
    int size = frame.content.length;
    while (written < asked) {
      int slot = (int) (written % slots);
      int run = (int) Math.min(asked - written, slots - slot);
      int from = slot * size + partOfFrame;
      int to = (slot + run) * size;
      ring.limit(to).position(from);
      int sent = channel.write(ring);
      written += (partOfFrame + sent) / size;
      partOfFrame = (partOfFrame + sent) % size;
      if (sent < to - from) {
        return false;
      }
    }
    return true;
  }
}
