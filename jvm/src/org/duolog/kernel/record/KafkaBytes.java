package org.duolog.kernel.record;

import java.nio.ByteBuffer;

/**
 * Kafka's byte formats of numbers: big-endian, fixed length. Bytes of a wrong length are read as
 * null.
 *
 * <p>Called from code that Spark generates. Source: Kafka's IntegerSerializer, LongSerializer,
 * DoubleSerializer and their deserializers.
 */
public final class KafkaBytes {
  /** The time of a {@code Driver} with its own clock, for its thread. */
  public static final ThreadLocal<Long> DRIVEN_CLOCK = new ThreadLocal<>();

  private KafkaBytes() {}

  /** Returns the current time in milliseconds, evaluated for each record. */
  public static long wallClock(long unused) {
    Long driven = DRIVEN_CLOCK.get();
    return driven == null ? System.currentTimeMillis() : driven;
  }

  public static byte[] ofInt(int value) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
  }

  public static byte[] ofLong(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }

  /**
   * Encodes a DOUBLE. All NaNs have the same bytes, as in Kafka, so that equal keys have one
   * partition.
   */
  public static byte[] ofDouble(double value) {
    return ofLong(Double.doubleToLongBits(value));
  }

  public static Integer toInt(byte[] bytes) {
    return bytes.length == Integer.BYTES ? ByteBuffer.wrap(bytes).getInt() : null;
  }

  public static Long toLong(byte[] bytes) {
    return bytes.length == Long.BYTES ? ByteBuffer.wrap(bytes).getLong() : null;
  }

  public static Double toDouble(byte[] bytes) {
    return bytes.length == Double.BYTES ? ByteBuffer.wrap(bytes).getDouble() : null;
  }
}
