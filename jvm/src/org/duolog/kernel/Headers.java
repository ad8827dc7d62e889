package org.duolog.kernel;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * A record's headers as one array of bytes, so that they cost nothing where there are none: null.
 *
 * <pre>  (key length, key in UTF-8, value length or -1, value)*      lengths: 4 bytes, big-endian
 * </pre>
 *
 * <p>Read at the sink only; in between they are handed on as they are. {@link #encode(ArrayData)} is
 * called by the code that Spark generates.
 */
public final class Headers {
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int NULL_LENGTH = -1;

  private Headers() {}

  /** From the column {@code headers} of Spark's Kafka source. */
  public static byte[] encode(ArrayData headers) {
    List<Header> read = new ArrayList<>(headers.numElements());
    for (int i = 0; i < headers.numElements(); i++) {
      InternalRow header = headers.getStruct(i, 2);
      byte[] value = header.isNullAt(VALUE) ? null : header.getBinary(VALUE);
      read.add(new RecordHeader(header.getUTF8String(KEY).toString(), value));
    }
    return encode(read);
  }

  static byte[] encode(Iterable<Header> headers) {
    List<byte[]> parts = new ArrayList<>();
    int size = 0;
    for (Header header : headers) {
      byte[] key = header.key().getBytes(StandardCharsets.UTF_8);
      parts.add(key);
      parts.add(header.value());
      size += 2 * Integer.BYTES + key.length + (header.value() == null ? 0 : header.value().length);
    }
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

  static List<Header> decode(byte[] encoded) {
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
