package org.duolog.kernel;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * Encodes records, to pass many to a {@link Driver} or return many from it in one call from another
 * process: a call costs as much as a record.
 *
 * <pre>
 *   in    topic, int partition, long offset, long ts, key, value, headers
 *   out   topic, int partition or -1,        long ts, key, value, headers
 *
 *   headers   int count, then name and value of each
 *   texts, keys, values   int length or -1 for null, then the bytes
 * </pre>
 */
final class PackedRecords {
  private static final int NONE = -1;

  private PackedRecords() {}

  /** Receives unpacked records. */
  interface Taker {
    void add(
        String topic,
        int partition,
        long offset,
        long ts,
        byte[] key,
        byte[] value,
        List<Header> headers);
  }

  static void unpack(byte[] packed, Taker taker) {
    ByteBuffer in = ByteBuffer.wrap(packed);
    while (in.hasRemaining()) {
      taker.add(
          text(in), in.getInt(), in.getLong(), in.getLong(), bytes(in), bytes(in), headers(in));
    }
  }

  static byte[] pack(List<Driver.Output> records) {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(packed)) {
      for (Driver.Output record : records) {
        write(out, record.topic().getBytes(StandardCharsets.UTF_8));
        out.writeInt(record.partition() == null ? NONE : record.partition());
        out.writeLong(record.ts());
        write(out, record.key());
        write(out, record.value());
        out.writeInt(record.headers().size());
        for (Header header : record.headers()) {
          write(out, header.key().getBytes(StandardCharsets.UTF_8));
          write(out, header.value());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e); // Writing to memory never fails.
    }
    return packed.toByteArray();
  }

  private static List<Header> headers(ByteBuffer in) {
    List<Header> headers = new ArrayList<>();
    for (int left = in.getInt(); left > 0; left--) {
      headers.add(new RecordHeader(text(in), bytes(in)));
    }
    return headers;
  }

  private static String text(ByteBuffer in) {
    return new String(bytes(in), StandardCharsets.UTF_8);
  }

  private static byte[] bytes(ByteBuffer in) {
    int length = in.getInt();
    if (length == NONE) {
      return null;
    }
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static void write(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes == null ? NONE : bytes.length);
    if (bytes != null) {
      out.write(bytes);
    }
  }
}
