package org.duolog.kernel.functions;

import java.util.Arrays;

/**
 * Non-negative integers in as few bytes as necessary: seven bits in each, the low ones first, and a
 * bit that is set if more bytes follow.
 *
 * <p>Threads: not shared. Source: Protocol Buffers' unsigned varints, as in Kafka's record format.
 */
final class Varints {
  static final int BYTES_MAX = 10;

  private final byte[] bytes;
  private int at;

  Varints(byte[] bytes, int from) {
    this.bytes = bytes;
    this.at = from;
  }

  int at() {
    return at;
  }

  long next() {
    long number = 0;
    for (int shift = 0; ; shift += 7) {
      byte part = bytes[at++];
      number |= (long) (part & 0x7f) << shift;
      if (part >= 0) {
        return number;
      }
    }
  }

  void skip(int length) {
    at += length;
  }

  /** A buffer that grows. */
  static final class Writer {
    private byte[] bytes;
    private int size;

    Writer(int expected) {
      bytes = new byte[Math.max(expected, 16)];
    }

    Writer number(long number) {
      ensure(BYTES_MAX);
      long left = number;
      while ((left & ~0x7fL) != 0) {
        bytes[size++] = (byte) (left | 0x80);
        left >>>= 7;
      }
      bytes[size++] = (byte) left;
      return this;
    }

    /** Writes bytes after their length. */
    Writer value(byte[] value, int from, int length) {
      return number(length).raw(value, from, length);
    }

    Writer raw(byte[] value, int from, int length) {
      ensure(length);
      System.arraycopy(value, from, bytes, size, length);
      size += length;
      return this;
    }

    byte[] bytes() {
      return Arrays.copyOf(bytes, size);
    }

    private void ensure(int more) {
      if (size + more > bytes.length) {
        bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
      }
    }
  }
}
