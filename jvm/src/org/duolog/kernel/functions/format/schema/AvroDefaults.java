package org.duolog.kernel.functions.format.schema;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.errors.SerializationException;

/** Values for fields without a column or a value. */
final class AvroDefaults {
  private AvroDefaults() {}

  /** Returns a writer for a field without a column. */
  static AvroWriting missing(Schema.Field field, String path) {
    byte[] bytes;
    if (field.hasDefaultValue()) {
      bytes = bytes(field);
    } else if (AvroTypes.isNullable(field.schema())) {
      AvroOutput out = new AvroOutput();
      int none = 0;
      while (!AvroTypes.isNull(field.schema().getTypes().get(none))) {
        none++;
      }
      out.number(none);
      bytes = out.bytes();
    } else {
      throw new SerializationException(
          String.format(
              "cannot write the Avro schema: field \"%s\" has no column and no default, and does"
                  + " not allow null",
              path));
    }
    return (values, at, out) -> out.raw(bytes);
  }

  /** Returns a field's default as it is written. */
  static byte[] bytes(Schema.Field field) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
    try {
      Object value = GenericData.get().getDefaultValue(field);
      new GenericDatumWriter<Object>(field.schema()).write(value, encoder);
      encoder.flush();
    } catch (IOException | RuntimeException e) {
      throw new SerializationException(
          String.format("the default of field \"%s\" is not of its type", field.name()), e);
    }
    return bytes.toByteArray();
  }

  /**
   * Returns a number with its sign in as many bytes as a fixed has. Avro has no decimals whose
   * precision is greater than that of their fixed.
   */
  static byte[] padded(byte[] number, int size) {
    byte[] padded = new byte[size];
    Arrays.fill(padded, (byte) (number[0] < 0 ? -1 : 0));
    System.arraycopy(number, 0, padded, size - number.length, number.length);
    return padded;
  }
}
