package org.duolog.kernel.functions.format.protobuf;

import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A position in the bytes of a message.
 *
 * <pre>
 *   field   tag, value            tag = number << 3 | wire type, a varint of 32 bits
 *   value   0 varint   1 eight bytes   2 length, bytes   3 fields, tag of type 4   5 four bytes
 * </pre>
 *
 * <p>Bytes that do not have this form are a {@code SerializationException}. The depth of messages
 * inside messages is limited. The limits are those of Protobuf's C library (upb), which reads the
 * same bytes in Python. Threads: not shared. Source: Protobuf's encoding.
 */
final class WireInput {
  static final int VARINT = 0;
  static final int FIXED64 = 1;
  static final int BYTES = 2;
  static final int GROUP = 3;
  static final int END_GROUP = 4;
  static final int FIXED32 = 5;
  static final int TYPE_BITS = 3;
  static final int TYPE_MASK = 7;

  private static final int DEPTH_MAX = 100;
  private static final int VARINT_BYTES_MAX = 10;
  private static final int SHORT_VARINT_BYTES_MAX = 5;
  private static final long UNSIGNED_INT_MASK = 0xFFFF_FFFFL;

  private final byte[] bytes;
  private int at;
  private int limit;
  private int depth = DEPTH_MAX;

  WireInput(byte[] bytes, int from) {
    this.bytes = bytes;
    this.at = from;
    this.limit = bytes.length;
  }

  int at() {
    return at;
  }

  /** Returns to an earlier position inside the same message. */
  void back(int to) {
    at = to;
  }

  boolean isAtEnd() {
    return at == limit;
  }

  /** Reads a tag, whose number is not zero. */
  int tag() {
    if (at < limit && bytes[at] > TYPE_MASK) {
      return bytes[at++];
    }
    long tag = shortVarint();
    if (tag > UNSIGNED_INT_MASK || tag >>> TYPE_BITS == 0) {
      throw wrong("there is no field of this number");
    }
    return (int) tag;
  }

  /** Reads 64 bits; higher ones are dropped. */
  long varint() {
    if (at < limit && bytes[at] >= 0) {
      return bytes[at++];
    }
    long number = 0;
    for (int i = 0; i < VARINT_BYTES_MAX; i++) {
      byte part = next();
      number |= (long) (part & 0x7f) << 7 * i;
      if (part >= 0) {
        return number;
      }
    }
    throw wrong("a number has more than ten bytes");
  }

  int fixed32() {
    int from = advance(Integer.BYTES);
    return (bytes[from] & 0xff)
        | (bytes[from + 1] & 0xff) << 8
        | (bytes[from + 2] & 0xff) << 16
        | (bytes[from + 3] & 0xff) << 24;
  }

  long fixed64() {
    long low = fixed32() & UNSIGNED_INT_MASK;
    return low | (long) fixed32() << Integer.SIZE;
  }

  /** Reads a length, and bytes that are shared with the message. */
  UTF8String text() {
    int length = length();
    return UTF8String.fromBytes(bytes, advance(length), length);
  }

  byte[] bytes() {
    int length = length();
    byte[] copy = new byte[length];
    System.arraycopy(bytes, advance(length), copy, 0, length);
    return copy;
  }

  /** Starts a message or packed values inside; returns the limit for {@link #leave}. */
  int enter() {
    int length = length();
    int outer = limit;
    limit = at + length;
    return outer;
  }

  void leave(int outer) {
    limit = outer;
  }

  /** Counts a message that starts inside. */
  void descend() {
    if (--depth < 0) {
      throw wrong("messages are nested deeper than " + DEPTH_MAX);
    }
  }

  void ascend() {
    depth++;
  }

  /** Skips the value after a tag. */
  void skip(int tag) {
    switch (tag & TYPE_MASK) {
      case VARINT -> varint();
      case FIXED64 -> advance(Long.BYTES);
      case BYTES -> advance(length());
      case FIXED32 -> advance(Integer.BYTES);
      case GROUP -> skipGroup(tag >>> TYPE_BITS);
      default -> throw wrong("a field has wire type " + (tag & TYPE_MASK));
    }
  }

  private void skipGroup(int number) {
    descend();
    while (true) {
      int tag = tag();
      if ((tag & TYPE_MASK) != END_GROUP) {
        skip(tag);
      } else if (tag >>> TYPE_BITS == number) {
        ascend();
        return;
      } else {
        throw wrong("a group ends that has not started");
      }
    }
  }

  /** Returns a length that fits into the message around it. */
  private int length() {
    if (at < limit && bytes[at] >= 0) {
      int length = bytes[at++];
      if (length <= limit - at) {
        return length;
      }
      throw cutOff();
    }
    long length = shortVarint();
    if (length > limit - at) {
      throw cutOff();
    }
    return (int) length;
  }

  private long shortVarint() {
    long number = 0;
    for (int i = 0; i < SHORT_VARINT_BYTES_MAX; i++) {
      byte part = next();
      number |= (long) (part & 0x7f) << 7 * i;
      if (part >= 0) {
        return number;
      }
    }
    throw wrong("a tag or a length has more than five bytes");
  }

  private byte next() {
    if (at == limit) {
      throw cutOff();
    }
    return bytes[at++];
  }

  private int advance(int count) {
    if (count > limit - at) {
      throw cutOff();
    }
    int from = at;
    at += count;
    return from;
  }

  private SerializationException cutOff() {
    return wrong("it is cut off");
  }

  SerializationException wrong(String why) {
    return new SerializationException(
        "the bytes are not a Protobuf message: " + why + ", at byte " + at);
  }
}
