package org.duolog.kernel.functions.format.protobuf;

import java.util.Arrays;

/**
 * Bytes that are written from the last to the first, so that the length of a message is known when
 * it is written in front of the message.
 *
 * <p>A number is written as a whole: only the order of writing values is reversed. Threads: not
 * shared.
 */
final class ReversedOutput {
  private static final int SIZE_MIN = 256;
  private static final int VARINT_BYTES_MAX = 10;

  private byte[] bytes = new byte[SIZE_MIN];
  private int at = SIZE_MIN;

  /** Returns the number of bytes that are written. */
  int size() {
    return bytes.length - at;
  }

  /** Returns everything that is written after a head, and starts again. */
  byte[] take(byte[] head) {
    byte[] taken = Arrays.copyOf(head, head.length + size());
    System.arraycopy(bytes, at, taken, head.length, size());
    clear();
    return taken;
  }

  void clear() {
    at = bytes.length;
  }

  void tag(int number, int wireType) {
    varint((long) number << WireInput.TYPE_BITS | wireType);
  }

  /** Writes 64 bits without a sign. */
  void varint(long number) {
    ensure(VARINT_BYTES_MAX);
    int length = (Long.SIZE + 6 - Long.numberOfLeadingZeros(number | 1)) / 7;
    at -= length;
    long left = number;
    for (int i = at; i < at + length - 1; i++) {
      bytes[i] = (byte) (left | 0x80);
      left >>>= 7;
    }
    bytes[at + length - 1] = (byte) left;
  }

  void fixed32(int number) {
    ensure(Integer.BYTES);
    for (int shift = Integer.SIZE - Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
      bytes[--at] = (byte) (number >>> shift);
    }
  }

  void fixed64(long number) {
    fixed32((int) (number >>> Integer.SIZE));
    fixed32((int) number);
  }

  void raw(byte[] data) {
    ensure(data.length);
    at -= data.length;
    System.arraycopy(data, 0, bytes, at, data.length);
  }

  /** Writes the length of everything that was written since {@link #size} returned this. */
  void lengthSince(int size) {
    varint(size() - size);
  }

  private void ensure(int more) {
    if (more > at) {
      int size = size();
      byte[] larger = new byte[Math.max(2 * bytes.length, size + more)];
      System.arraycopy(bytes, at, larger, larger.length - size, size);
      at = larger.length - size;
      bytes = larger;
    }
  }
}
