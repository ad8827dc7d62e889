package org.duolog.kernel.functions;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions of bytes that Spark's SQL lacks, or defines differently; called from code that Spark
 * generates. Positions start at 1; arguments are not null unless stated otherwise.
 */
public final class Bytes {
  private static final int UUID_LENGTH = 16;

  private Bytes() {}

  public static byte[] substring(byte[] bytes, int position, int length) {
    int from = Texts.start(bytes.length, position);
    return Arrays.copyOfRange(bytes, from, Texts.end(bytes.length, from, length));
  }

  /** Pads to a length on the left; null if the padding is empty. */
  public static byte[] padLeft(byte[] bytes, int length, byte[] padding) {
    return padded(bytes, length, padding, Math.max(length - bytes.length, 0));
  }

  public static byte[] padRight(byte[] bytes, int length, byte[] padding) {
    return padded(bytes, length, padding, 0);
  }

  private static byte[] padded(byte[] bytes, int length, byte[] padding, int at) {
    if (length < 0 || padding.length == 0) {
      return null;
    }
    Limits.ensureLength(length);
    byte[] padded = new byte[length];
    int kept = Math.min(bytes.length, length);
    int first = at > 0 ? 0 : kept;
    for (int i = 0; i < length - kept; i++) {
      padded[first + i] = padding[i % padding.length];
    }
    System.arraycopy(bytes, 0, padded, at, kept);
    return padded;
  }

  /** Splits at a separator, keeping empty parts; an empty separator splits into single bytes. */
  public static ArrayData parts(byte[] bytes, byte[] separator) {
    List<byte[]> parts = new ArrayList<>();
    int start = 0;
    int at = separator.length == 0 ? 1 : 0;
    while (at <= bytes.length - Math.max(separator.length, 1)) {
      int end = at + separator.length;
      if (Arrays.equals(bytes, at, end, separator, 0, separator.length)) {
        parts.add(Arrays.copyOfRange(bytes, start, at));
        start = end;
        at = separator.length == 0 ? at + 1 : end;
      } else {
        at++;
      }
    }
    parts.add(Arrays.copyOfRange(bytes, start, bytes.length));
    return new GenericArrayData(parts.toArray());
  }

  /** Joins all parts that are not null, with a separator between them. */
  public static byte[] join(byte[] separator, ArrayData parts) {
    List<byte[]> joined = new ArrayList<>();
    int length = 0;
    for (int i = 0; i < parts.numElements(); i++) {
      if (!parts.isNullAt(i)) {
        if (!joined.isEmpty()) {
          joined.add(separator);
          length += separator.length;
        }
        joined.add(parts.getBinary(i));
        length += parts.getBinary(i).length;
      }
    }
    ByteBuffer whole = ByteBuffer.allocate(length);
    joined.forEach(whole::put);
    return whole.array();
  }

  public static int toInt(byte[] bytes, UTF8String order) {
    return buffer(bytes, order, Integer.BYTES).getInt();
  }

  public static long toLong(byte[] bytes, UTF8String order) {
    return buffer(bytes, order, Long.BYTES).getLong();
  }

  public static double toDouble(byte[] bytes, UTF8String order) {
    return buffer(bytes, order, Double.BYTES).getDouble();
  }

  private static ByteBuffer buffer(byte[] bytes, UTF8String order, int length) {
    if (bytes.length != length) {
      throw new IllegalArgumentException(
          "expected " + length + " bytes, found " + bytes.length);
    }
    ByteOrder found =
        switch (order.toString()) {
          case "BIG_ENDIAN" -> ByteOrder.BIG_ENDIAN;
          case "LITTLE_ENDIAN" -> ByteOrder.LITTLE_ENDIAN;
          default ->
              throw new IllegalArgumentException(
                  "byte order is " + order + ", expected BIG_ENDIAN or LITTLE_ENDIAN");
        };
    return ByteBuffer.wrap(bytes).order(found);
  }

  /** Formats sixteen bytes as a UUID; null for another length. */
  public static UTF8String uuid(byte[] bytes) {
    if (bytes.length != UUID_LENGTH) {
      return null;
    }
    ByteBuffer halves = ByteBuffer.wrap(bytes);
    return UTF8String.fromString(new UUID(halves.getLong(), halves.getLong()).toString());
  }
}
