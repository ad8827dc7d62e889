package org.duolog.kernel.record;

import java.nio.ByteBuffer;

/**
 * The source record that caused a record, as bytes that travel with it. Read when an error is
 * reported, and by expressions that use it.
 *
 * <pre>
 *   source (4), partition (4), offset (8), timestamp (8)
 *   and if dead letters are written: key length or -1 (4), key, value length or -1 (4), value
 * </pre>
 */
public record Origin(int source, int partition, long offset, long ts, byte[] key, byte[] value) {
  private static final int PLACE_BYTES = 24;
  private static final int NULL_LENGTH = -1;

  public static byte[] encode(int source, SourceRecord record, boolean withBytes) {
    byte[] key = record.getKey();
    byte[] value = record.getValue();
    int size = withBytes ? 2 * Integer.BYTES + length(key) + length(value) : 0;
    ByteBuffer bytes = ByteBuffer.allocate(PLACE_BYTES + size);
    bytes.putInt(source).putInt(record.getPartition());
    bytes.putLong(record.getOffset()).putLong(record.getTs());
    if (withBytes) {
      put(bytes, key);
      put(bytes, value);
    }
    return bytes.array();
  }

  public static int source(byte[] encoded) {
    return ByteBuffer.wrap(encoded).getInt();
  }

  public static int partition(byte[] encoded) {
    return ByteBuffer.wrap(encoded).getInt(Integer.BYTES);
  }

  public static long offset(byte[] encoded) {
    return ByteBuffer.wrap(encoded).getLong(2 * Integer.BYTES);
  }

  public static Origin decode(byte[] encoded) {
    ByteBuffer bytes = ByteBuffer.wrap(encoded);
    return new Origin(
        bytes.getInt(),
        bytes.getInt(),
        bytes.getLong(),
        bytes.getLong(),
        part(bytes),
        part(bytes));
  }

  private static int length(byte[] part) {
    return part == null ? 0 : part.length;
  }

  private static void put(ByteBuffer bytes, byte[] part) {
    bytes.putInt(part == null ? NULL_LENGTH : part.length);
    if (part != null) {
      bytes.put(part);
    }
  }

  private static byte[] part(ByteBuffer bytes) {
    int length = bytes.hasRemaining() ? bytes.getInt() : NULL_LENGTH;
    if (length == NULL_LENGTH) {
      return null;
    }
    byte[] part = new byte[length];
    bytes.get(part);
    return part;
  }
}
