package org.duolog.kernel.functions.format.protobuf;

import java.util.Arrays;
import org.apache.kafka.common.errors.SerializationException;

/**
 * The place of a message in its file, between the id of the schema and the message: the number of
 * indexes and the indexes, each as a zig-zag varint; a single zero stands for the first message.
 *
 * <p>{@code duolog.schemas.protobuf.indexes} is the same in Python. Source: Confluent's wire
 * format.
 *
 * @param indexes the place
 * @param end the position after it
 */
record MessageIndexes(int[] indexes, int end) {
  private static final int DEPTH_MAX = 64;
  private static final int VARINT_BYTES_MAX = 5;
  private static final int[] FIRST = {0};

  static MessageIndexes read(byte[] bytes, int from) {
    int[] at = {from};
    long count = number(bytes, at);
    if (count < 0 || count > DEPTH_MAX) {
      throw new SerializationException(
          count + " message indexes in front of a Protobuf message, expected at most " + DEPTH_MAX);
    }
    int[] indexes = new int[(int) count];
    for (int i = 0; i < indexes.length; i++) {
      long index = number(bytes, at);
      indexes[i] = (int) Math.max(-1, Math.min(index, Integer.MAX_VALUE));
    }
    return new MessageIndexes(count == 0 ? FIRST : indexes, at[0]);
  }

  private static long number(byte[] bytes, int[] at) {
    long value = 0;
    for (int i = 0; i < VARINT_BYTES_MAX; i++) {
      if (at[0] >= bytes.length) {
        throw new SerializationException("the indexes of the Protobuf message are cut off");
      }
      byte part = bytes[at[0]++];
      value |= (long) (part & 0x7f) << 7 * i;
      if (part >= 0) {
        return value >>> 1 ^ -(value & 1);
      }
    }
    throw new SerializationException("an index of a Protobuf message has more than 32 bits");
  }

  /** Returns the bytes of a place, after other bytes. */
  static byte[] written(byte[] head, int[] indexes) {
    ReversedOutput out = new ReversedOutput();
    if (Arrays.equals(indexes, FIRST)) {
      out.varint(0);
      return out.take(head);
    }
    for (int i = indexes.length - 1; i >= 0; i--) {
      out.varint((long) indexes[i] << 1);
    }
    out.varint((long) indexes.length << 1);
    return out.take(head);
  }
}
