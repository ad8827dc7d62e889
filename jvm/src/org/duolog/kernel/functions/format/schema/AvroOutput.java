package org.duolog.kernel.functions.format.schema;

import java.util.Arrays;

/** Avro's binary form, written to bytes in memory. Threads: one at a time. */
final class AvroOutput {
  private static final int FIRST_BYTES = 256;

  private byte[] bytes = new byte[FIRST_BYTES];
  private int size;

  /** Starts again, after a frame. */
  void start(byte[] frame) {
    size = 0;
    raw(frame);
  }

  byte[] bytes() {
    return Arrays.copyOf(bytes, size);
  }

  private void ensure(int more) {
    if (more > bytes.length - size) {
      long wanted = Math.max(2L * bytes.length, (long) size + more);
      bytes = Arrays.copyOf(bytes, (int) Math.min(wanted, Integer.MAX_VALUE - 8));
    }
  }

  /** Writes an int or a long. */
  void number(long value) {
    ensure(10);
    long bits = value << 1 ^ value >> Long.SIZE - 1;
    while ((bits & ~0x7FL) != 0) {
      bytes[size++] = (byte) (bits & 0x7F | 0x80);
      bits >>>= 7;
    }
    bytes[size++] = (byte) bits;
  }

  void bool(boolean value) {
    ensure(1);
    bytes[size++] = (byte) (value ? 1 : 0);
  }

  void real(float value) {
    fixedNumber(Float.floatToIntBits(value), Float.BYTES);
  }

  void doubleReal(double value) {
    fixedNumber(Double.doubleToLongBits(value), Double.BYTES);
  }

  private void fixedNumber(long bits, int length) {
    ensure(length);
    for (int i = 0; i < length; i++) {
      bytes[size++] = (byte) (bits >>> 8 * i);
    }
  }

  /** Writes bytes or a string, after their length. */
  void counted(byte[] value) {
    number(value.length);
    raw(value);
  }

  void raw(byte[] value) {
    ensure(value.length);
    System.arraycopy(value, 0, bytes, size, value.length);
    size += value.length;
  }
}
