package org.duolog.kernel.record;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record's headers as one byte array; null for a record without headers, which then cost nothing.
 *
 * <pre>  (key length, key in UTF-8, value length or -1, value)*      lengths: 4 bytes, big-endian
 * </pre>
 *
 * <p>Forwarded unchanged, and decoded at the sink and by expressions that use headers. Public
 * methods are called from code that Spark generates.
 */
public final class Headers {
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int NULL_LENGTH = -1;

  private Headers() {}

  /** Encodes the column {@code headers} of Spark's Kafka source. */
  public static byte[] encode(ArrayData headers) {
    List<Header> read = new ArrayList<>(headers.numElements());
    for (int i = 0; i < headers.numElements(); i++) {
      InternalRow header = headers.getStruct(i, 2);
      byte[] value = header.isNullAt(VALUE) ? null : header.getBinary(VALUE);
      read.add(new RecordHeader(header.getUTF8String(KEY).toString(), value));
    }
    return encode(read);
  }

  public static byte[] encode(Iterable<Header> headers) {
    Writer writer = new Writer();
    headers.forEach(header -> writer.add(header.key(), header.value()));
    return writer.bytes();
  }

  /** Returns the value of the last header with this name; null if there is none. */
  public static byte[] last(byte[] encoded, UTF8String name) {
    byte[] found = null;
    for (Header header : decode(encoded)) {
      found = header.key().equals(name.toString()) ? header.value() : found;
    }
    return found;
  }

  /** Returns all headers as an array of STRUCT<key STRING, value BINARY>. */
  public static ArrayData list(byte[] encoded) {
    return new GenericArrayData(
        decode(encoded).stream()
            .map(header -> new GenericInternalRow(
                new Object[] {UTF8String.fromString(header.key()), header.value()}))
            .toArray());
  }

  /** Appends headers one after the other. */
  public static final class Writer {
    private final List<byte[]> parts = new ArrayList<>();
    private int size;

    public void add(String key, byte[] value) {
      byte[] name = key.getBytes(StandardCharsets.UTF_8);
      parts.add(name);
      parts.add(value);
      size += 2 * Integer.BYTES + name.length + (value == null ? 0 : value.length);
    }

    public void addAllBut(byte[] encoded, Set<String> names) {
      for (Header header : decode(encoded)) {
        if (!names.contains(header.key())) {
          add(header.key(), header.value());
        }
      }
    }

    /** Returns the encoded headers; null if there are none. */
    public byte[] bytes() {
      if (parts.isEmpty()) {
        return null;
      }
      ByteBuffer bytes = ByteBuffer.allocate(size);
      for (byte[] part : parts) {
        bytes.putInt(part == null ? NULL_LENGTH : part.length);
        if (part != null) {
          bytes.put(part);
        }
      }
      return bytes.array();
    }
  }

  public static List<Header> decode(byte[] encoded) {
    List<Header> headers = new ArrayList<>();
    if (encoded != null) {
      ByteBuffer bytes = ByteBuffer.wrap(encoded);
      while (bytes.hasRemaining()) {
        String key = new String(part(bytes), StandardCharsets.UTF_8);
        headers.add(new RecordHeader(key, part(bytes)));
      }
    }
    return headers;
  }

  private static byte[] part(ByteBuffer bytes) {
    int length = bytes.getInt();
    if (length == NULL_LENGTH) {
      return null;
    }
    byte[] part = new byte[length];
    bytes.get(part);
    return part;
  }
}
