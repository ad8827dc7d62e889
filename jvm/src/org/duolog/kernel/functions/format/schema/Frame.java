package org.duolog.kernel.functions.format.schema;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.errors.SerializationException;

/** The five bytes before a payload: zero, and the id of its schema. Source: Confluent. */
public final class Frame {
  public static final int LENGTH = 5;

  private Frame() {}

  /** Returns the id of the schema of a record's bytes; the payload starts at {@link #LENGTH}. */
  public static int id(byte[] bytes) {
    if (bytes.length < LENGTH || bytes[0] != 0) {
      throw new SerializationException(
          "the bytes do not start with the id of a schema: check that the producer uses the"
              + " serializer of a schema registry");
    }
    return ByteBuffer.wrap(bytes).getInt(1);
  }

  /** Returns these five bytes. */
  public static byte[] of(int id) {
    return ByteBuffer.allocate(LENGTH).putInt(1, id).array();
  }

  /** Returns a payload after a frame. */
  static byte[] before(byte[] payload, byte[] frame) {
    byte[] framed = Arrays.copyOf(frame, frame.length + payload.length);
    System.arraycopy(payload, 0, framed, frame.length, payload.length);
    return framed;
  }
}
