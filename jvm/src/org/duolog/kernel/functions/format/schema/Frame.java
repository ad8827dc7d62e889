package org.duolog.kernel.functions.format.schema;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;
import org.apache.kafka.common.errors.SerializationException;

/**
 * The bytes before a payload that name its schema. The GUID is in a header of the record, which the
 * engine puts before the payload.
 *
 * <pre>
 *   00 | id, 4 bytes      | payload
 *   01 | GUID, 16 bytes   | payload
 * </pre>
 *
 * <p>Source: Confluent's wire format.
 */
public final class Frame {
  /** The length with an id. */
  public static final int LENGTH = 5;

  private static final int GUID_LENGTH = 17;

  private Frame() {}

  /** Returns the id of a schema; the payload starts at {@link #LENGTH}. */
  public static int id(byte[] bytes) {
    if (bytes.length < LENGTH || bytes[0] != 0) {
      throw new SerializationException(
          "the bytes do not start with the id of a schema: check that the producer uses the"
              + " serializer of a schema registry");
    }
    return ByteBuffer.wrap(bytes).getInt(1);
  }

  /** Returns true if bytes have a GUID in place of an id. */
  static boolean hasGuid(byte[] bytes) {
    return bytes.length >= GUID_LENGTH && bytes[0] == 1;
  }

  static String guid(byte[] bytes) {
    ByteBuffer guid = ByteBuffer.wrap(bytes);
    return new UUID(guid.getLong(1), guid.getLong(1 + Long.BYTES)).toString();
  }

  /** Returns where the payload starts. */
  public static int end(byte[] bytes) {
    if (hasGuid(bytes)) {
      return GUID_LENGTH;
    }
    id(bytes);
    return LENGTH;
  }

  /** Returns the bytes before a payload with the schema of an id. */
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
