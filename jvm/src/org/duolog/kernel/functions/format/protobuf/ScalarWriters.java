package org.duolog.kernel.functions.format.protobuf;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Writes values of columns as numbers, texts, bytes and enums: each kind of number from the column
 * of its kind, 64 bits also from INT. {@code duolog.serde.protobuf_writing} writes the same.
 */
final class ScalarWriters {
  private static final long UNSIGNED_INT_MAX = 0xFFFF_FFFFL;

  private ScalarWriters() {}

  /** Writes a value that is not null, without its tag. */
  interface ScalarWriter {
    /** Writes the value; returns false if it is the default of its type, and not written then. */
    boolean write(SpecializedGetters values, int at, boolean evenDefault, ReversedOutput out);
  }

  /** Returns how to write a column as a field; null if it has another type. */
  static ScalarWriter of(FieldType field, DataType column) {
    DataType own = ColumnTypes.of(field);
    boolean isWidened = column instanceof IntegerType && own instanceof LongType;
    if (field.isMessage() || !own.equals(column) && !isWidened) {
      return null;
    }
    if (field.type == FieldType.ENUM) {
      return enumeration(field.enumeration);
    } else if (column instanceof StringType) {
      return ScalarWriters::text;
    }
    return switch (field.type) {
      case FieldType.BYTES -> (values, at, even, out) -> bytes(values.getBinary(at), even, out);
      case FieldType.BOOL -> (values, at, even, out) ->
          number(field.type, values.getBoolean(at) ? 1 : 0, even, out);
      case FieldType.DOUBLE -> (values, at, even, out) ->
          number(field.type, Double.doubleToRawLongBits(values.getDouble(at)), even, out);
      case FieldType.FLOAT -> (values, at, even, out) ->
          number(
              field.type, Float.floatToRawIntBits((float) values.getDouble(at)), even, out);
      default -> column instanceof IntegerType
          ? (values, at, even, out) -> number(field.type, values.getInt(at), even, out)
          : (values, at, even, out) -> number(field.type, values.getLong(at), even, out);
    };
  }

  /**
   * Writes a number as a type.
   *
   * @param number its value; for DOUBLE and FLOAT its bits
   */
  static boolean number(int type, long number, boolean evenDefault, ReversedOutput out) {
    if (number == 0 && !evenDefault) {
      return false;
    }
    switch (type) {
      case FieldType.DOUBLE, FieldType.FIXED64, FieldType.SFIXED64 -> out.fixed64(number);
      case FieldType.FLOAT, FieldType.SFIXED32 -> out.fixed32((int) number);
      case FieldType.FIXED32 -> out.fixed32((int) unsigned(number));
      case FieldType.UINT32 -> out.varint(unsigned(number));
      case FieldType.SINT32, FieldType.SINT64 ->
          out.varint(number << 1 ^ number >> Long.SIZE - 1);
      default -> out.varint(number);
    }
    return true;
  }

  private static long unsigned(long number) {
    if (number < 0 || number > UNSIGNED_INT_MAX) {
      throw new SerializationException(number + " does not fit into 32 bits without a sign");
    }
    return number;
  }

  private static boolean text(
      SpecializedGetters values, int at, boolean evenDefault, ReversedOutput out) {
    UTF8String text = values.getUTF8String(at);
    UTF8String valid = text.isFullAscii() || text.isValid() ? text : text.makeValid();
    return bytes(valid.getBytes(), evenDefault, out);
  }

  private static boolean bytes(byte[] bytes, boolean evenDefault, ReversedOutput out) {
    if (bytes.length == 0 && !evenDefault) {
      return false;
    }
    out.raw(bytes);
    out.varint(bytes.length);
    return true;
  }

  private static ScalarWriter enumeration(FieldType.EnumType of) {
    Map<UTF8String, Integer> numbers = new HashMap<>();
    of.numbers().forEach((name, number) -> numbers.put(UTF8String.fromString(name), number));
    return (values, at, evenDefault, out) -> {
      UTF8String name = values.getUTF8String(at);
      Integer number = numbers.get(name);
      if (number == null) {
        throw new SerializationException(
            String.format("\"%s\" is not a value of the Protobuf enum", name));
      }
      return number(FieldType.ENUM, number, evenDefault, out);
    };
  }
}
