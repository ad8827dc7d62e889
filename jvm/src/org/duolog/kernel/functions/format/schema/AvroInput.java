package org.duolog.kernel.functions.format.schema;

import java.util.Arrays;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Avro's binary form, read from bytes in memory. What a value claims is checked against the bytes
 * that are left, so that damaged bytes cost no more than their length. Threads: one at a time.
 */
final class AvroInput {
  private static final int EMPTY_ITEMS_MAX = 100_000;

  private byte[] bytes;
  private int emptyItems;

  /** The position of the next byte. */
  int at;

  void set(byte[] from, int start) {
    bytes = from;
    at = start;
    emptyItems = 0;
  }

  private int next() {
    if (at >= bytes.length) {
      throw ended();
    }
    return bytes[at++];
  }

  private static SerializationException ended() {
    return new SerializationException("the bytes of an Avro value end too early");
  }

  /** Reads an int or a long. */
  long number() {
    long bits = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      int one = next();
      bits |= (one & 0x7FL) << shift;
      if (one >= 0) {
        return (bits >>> 1) ^ -(bits & 1);
      }
    }
    throw new SerializationException("an Avro number has too many bytes");
  }

  int integer() {
    long number = number();
    if ((int) number != number) {
      throw new SerializationException(number + " is not an Avro int");
    }
    return (int) number;
  }

  boolean bool() {
    return next() != 0;
  }

  float real() {
    return Float.intBitsToFloat((int) fixedNumber(Float.BYTES));
  }

  double doubleReal() {
    return Double.longBitsToDouble(fixedNumber(Double.BYTES));
  }

  private long fixedNumber(int size) {
    ensure(size);
    long bits = 0;
    for (int i = size - 1; i >= 0; i--) {
      bits = bits << 8 | bytes[at + i] & 0xFF;
    }
    at += size;
    return bits;
  }

  byte[] fixed(int size) {
    ensure(size);
    at += size;
    return Arrays.copyOfRange(bytes, at - size, at);
  }

  byte[] bytes() {
    return fixed(length());
  }

  UTF8String text() {
    UTF8String text = UTF8String.fromBytes(bytes());
    if (!text.isFullAscii() && !text.isValid()) {
      throw new SerializationException("an Avro string is not UTF-8");
    }
    return text;
  }

  void skip(int size) {
    ensure(size);
    at += size;
  }

  void skipBytes() {
    skip(length());
  }

  private int length() {
    long length = number();
    if (length < 0 || length > bytes.length - at) {
      throw ended();
    }
    return (int) length;
  }

  private void ensure(int size) {
    if (size > bytes.length - at) {
      throw ended();
    }
  }

  /** Returns the number of items in the next block of an array or a map; 0 after the last one. */
  int block() {
    long count = number();
    if (count < 0) {
      number(); // The size of the block in bytes.
      count = -count;
    }
    if (count < 0 || count > (long) bytes.length - at + EMPTY_ITEMS_MAX) {
      throw ended();
    }
    return (int) count;
  }

  /** Counts an item of no bytes, of which few bytes can claim any number. */
  void ensureUsed(int start) {
    if (at == start && ++emptyItems > EMPTY_ITEMS_MAX) {
      throw new SerializationException(
          "an Avro value has more than " + EMPTY_ITEMS_MAX + " items without bytes");
    }
  }

  /** Returns the number of a branch of a union, or of a symbol of an enum. */
  int choice(int count) {
    long number = number();
    if (number < 0 || number >= count) {
      throw new SerializationException(
          String.format("an Avro value has the type or symbol %d of %d", number, count));
    }
    return (int) number;
  }
}
