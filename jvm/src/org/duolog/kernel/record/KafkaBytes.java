package org.duolog.kernel.record;

import java.nio.ByteBuffer;

/**
 * Kafka's own byte forms of numbers: big-endian, fixed length. A wrong length reads as null.
 *
 * <p>Called by the code that Spark generates. Source: Kafka's IntegerSerializer, LongSerializer,
 * DoubleSerializer and their deserializers.
 */
public final class KafkaBytes {
  /** The time of a {@code Driver} that has a clock of its own, in its thread. */
  public static final ThreadLocal<Long> DRIVEN_CLOCK = new ThreadLocal<>();

  private KafkaBytes() {}

  /** The time now, in milliseconds; it is told apart for each record. */
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

  /** All NaNs have the same bytes, as in Kafka: keys that are equal go to one partition. */
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
