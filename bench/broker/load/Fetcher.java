import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Fetches, one request at a time. One partition is read from its start to its end and again; at
 * the tail, several are waited for. Fetch version 12, no session.
 */
final class Fetcher extends Connection {
  private static final int LENGTH_END = 12;
  private static final int LAST_DELTA_AT = 23;

  private final boolean tail;
  private final int step;
  private final int batchBytes;
  private final int batchRecords;
  private final long endOffset;
  private final int[] numbers;
  private final long[] offsets;
  private final int[] offsetsAt;
  private final ByteBuffer request;
  private long sentAt;
  private int cursor;
  Pacer pacer;

  Fetcher(Load load, int number, int count, boolean tail) throws IOException {
    super(load, 1 << 16);
    this.tail = tail;
    step = count;
    batchBytes = load.integer("batch-bytes");
    batchRecords = load.integer("batch-records");
    endOffset = Long.parseLong(load.options.getOrDefault("end-offset", "0"));
    int all = load.integer("partitions");
    int mine = Math.max(1, (all - number % all + count - 1) / count);
    numbers = new int[mine];
    offsets = new long[mine];
    offsetsAt = new int[mine];
    for (int i = 0; i < mine; i++) {
      numbers[i] = number % all + i * count;
    }
    request = ByteBuffer.wrap(encode(load.integer("fetch-bytes", 1 << 20)));
    request.position(request.limit());
  }

  private byte[] encode(int partitionBytesMax) throws IOException {
    byte[] name = load.text("topic").getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(0);
    out.writeShort(1); // Fetch
    out.writeShort(12);
    out.writeInt(1);
    out.writeShort(4);
    out.writeBytes("load");
    out.writeByte(0);
    out.writeInt(-1); // A consumer.
    out.writeInt(500); // Waits up to 500 ms ...
    out.writeInt(1); // ... for one byte.
    out.writeInt(52428800);
    out.writeByte(0);
    out.writeInt(0); // No session ...
    out.writeInt(-1); // ... and none wanted.
    out.writeByte(2);
    out.writeByte(name.length + 1);
    out.write(name);
    varint(out, numbers.length + 1);
    for (int i = 0; i < numbers.length; i++) {
      out.writeInt(numbers[i]);
      out.writeInt(-1);
      offsetsAt[i] = out.size();
      out.writeLong(0);
      out.writeInt(-1);
      out.writeLong(-1);
      out.writeInt(partitionBytesMax);
      out.writeByte(0);
    }
    out.writeByte(0);
    out.writeByte(1); // Nothing forgotten.
    out.writeByte(1); // No rack.
    out.writeByte(0);
    byte[] frame = bytes.toByteArray();
    ByteBuffer.wrap(frame).putInt(0, frame.length - SIZE_BYTES);
    return frame;
  }

  private static void varint(DataOutputStream out, int value) throws IOException {
    int rest = value;
    while (rest >= 0x80) {
      out.writeByte(rest & 0x7F | 0x80);
      rest >>>= 7;
    }
    out.writeByte(rest);
  }

  @Override
  void begin() throws IOException {
    goOn();
    flush();
  }

  @Override
  void goOn() {
    sentAt = System.nanoTime();
    for (int i = 0; i < offsets.length; i++) {
      request.putLong(offsetsAt[i], offsets[i]);
    }
    request.position(0);
  }

  @Override
  boolean write() throws IOException {
    while (request.hasRemaining()) {
      if (channel.write(request) == 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  void answered(ByteBuffer buffer, int start, int size) {
    // Correlation id, tags, throttle time, error, session, topics, name with its length.
    ensureNone(buffer.getShort(start + 9));
    cursor = start + 16 + 1 + load.text("topic").length();
    int count = varint(buffer) - 1;
    long got = 0;
    for (int i = 0; i < count; i++) {
      got += partition(buffer);
    }
    if (!tail) {
      load.recordsInAll += got;
    }
    if (load.measuring) {
      load.fetches++;
      load.fetchedRecords += got;
      if (!tail) {
        load.requests++;
        load.records += got;
        load.bytes += size;
        load.answers.add(System.nanoTime() - sentAt);
      }
    }
  }

  private long partition(ByteBuffer buffer) {
    int number = buffer.getInt(cursor);
    ensureNone(buffer.getShort(cursor + 4));
    cursor += 30;
    if (varint(buffer) > 1) {
      throw new IllegalStateException("aborted transactions, where there are none");
    }
    cursor += 4;
    int records = Math.max(0, varint(buffer) - 1);
    int index = index(number);
    long got = tail ? walk(buffer, records, index) : count(records, index);
    cursor += records;
    if (buffer.get(cursor++) != 0) {
      throw new IllegalStateException("tagged fields, where none are expected");
    }
    return got;
  }

  /** Count batches that all have one size, without looking at them. */
  private long count(int bytes, int index) {
    long got = (long) (bytes / batchBytes) * batchRecords;
    offsets[index] += got;
    if (offsets[index] >= endOffset) {
      offsets[index] = 0;
    }
    return got;
  }

  private long walk(ByteBuffer buffer, int bytes, int index) {
    long before = offsets[index];
    int at = cursor;
    int end = cursor + bytes;
    while (end - at > LAST_DELTA_AT + 4) {
      int size = LENGTH_END + buffer.getInt(at + 8);
      if (size > end - at) {
        break;
      }
      offsets[index] = buffer.getLong(at) + buffer.getInt(at + LAST_DELTA_AT) + 1;
      at += size;
    }
    if (pacer != null) {
      pacer.delivered(offsets[index]);
    }
    return offsets[index] - before;
  }

  private int index(int number) {
    int index = (number - numbers[0]) / step;
    if (numbers[index] != number) {
      throw new IllegalStateException("partition " + number + " was not asked for");
    }
    return index;
  }

  private int varint(ByteBuffer buffer) {
    int value = 0;
    for (int shift = 0; ; shift += 7) {
      byte next = buffer.get(cursor++);
      value |= (next & 0x7F) << shift;
      if (next >= 0) {
        return value;
      }
    }
  }

  private static void ensureNone(int error) {
    if (error != 0) {
      throw new IllegalStateException("the broker answered with error " + error);
    }
  }
}
