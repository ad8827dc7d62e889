package org.duolog.kernel.functions.format.protobuf;

import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads numbers, texts, bytes and enums as values of columns.
 *
 * <pre>
 *   number    the column of its kind; INT also as BIGINT; a column STRING has its text
 *   enum      STRING: its name, or its number if it has none
 *   string    STRING      bytes   BYTES
 * </pre>
 */
final class Scalars {
  private static final long UNSIGNED_INT_MASK = 0xFFFF_FFFFL;

  private Scalars() {}

  /** Reads one value; null for a number that a closed enum does not have. */
  interface Scalar {
    Object read(WireInput in);
  }

  /** Returns how to read a field as a column; null if its values are not of the column's type. */
  static Scalar of(FieldType field, DataType column) {
    if (field.type == FieldType.ENUM) {
      return column instanceof StringType ? enumeration(field.enumeration) : null;
    } else if (field.type == FieldType.STRING) {
      return column instanceof StringType ? in -> verified(in.text()) : null;
    } else if (field.type == FieldType.BYTES) {
      return column instanceof BinaryType ? WireInput::bytes : null;
    } else if (field.isMessage()) {
      return null;
    }
    Scalar read = number(field.type);
    Object zero = zero(field.type);
    if (column instanceof StringType) {
      return rendered(field.type, read);
    } else if (column instanceof LongType && zero instanceof Integer) {
      return in -> ((Integer) read.read(in)).longValue();
    }
    boolean fits =
        column instanceof IntegerType && zero instanceof Integer
            || column instanceof LongType && zero instanceof Long
            || column instanceof DoubleType && zero instanceof Double
            || column instanceof BooleanType && zero instanceof Boolean;
    return fits ? read : null;
  }

  /** Returns the value of a field that is not there. */
  static Object defaultOf(FieldType field, DataType column) {
    if (field.type == FieldType.ENUM) {
      return UTF8String.fromString(nameOf(field.enumeration, 0));
    } else if (field.type == FieldType.STRING) {
      return UTF8String.EMPTY_UTF8;
    } else if (field.type == FieldType.BYTES) {
      return new byte[0];
    }
    Object zero = zero(field.type);
    if (column instanceof StringType) {
      return UTF8String.fromString(zero.toString());
    }
    return column instanceof LongType ? 0L : zero;
  }

  private static Object zero(int type) {
    return switch (type) {
      case FieldType.DOUBLE, FieldType.FLOAT -> 0.0;
      case FieldType.INT32, FieldType.SINT32, FieldType.SFIXED32 -> 0;
      case FieldType.BOOL -> false;
      default -> 0L;
    };
  }

  /** Reads a number, of a type whose values have the class of {@link #zero}. */
  private static Scalar number(int type) {
    return switch (type) {
      case FieldType.DOUBLE -> in -> Double.longBitsToDouble(in.fixed64());
      case FieldType.FLOAT -> in -> (double) Float.intBitsToFloat(in.fixed32());
      case FieldType.INT64, FieldType.UINT64 -> WireInput::varint;
      case FieldType.INT32 -> in -> (int) in.varint();
      case FieldType.FIXED64, FieldType.SFIXED64 -> WireInput::fixed64;
      case FieldType.FIXED32 -> in -> in.fixed32() & UNSIGNED_INT_MASK;
      case FieldType.BOOL -> in -> in.varint() != 0;
      case FieldType.UINT32 -> in -> in.varint() & UNSIGNED_INT_MASK;
      case FieldType.SFIXED32 -> WireInput::fixed32;
      case FieldType.SINT32 -> in -> signed((int) in.varint());
      case FieldType.SINT64 -> in -> signed(in.varint());
      default -> throw new SerializationException("there is no Protobuf type " + type);
    };
  }

  private static int signed(int zigzag) {
    return zigzag >>> 1 ^ -(zigzag & 1);
  }

  private static long signed(long zigzag) {
    return zigzag >>> 1 ^ -(zigzag & 1);
  }

  private static Scalar rendered(int type, Scalar number) {
    boolean isUnsigned = type == FieldType.UINT64 || type == FieldType.FIXED64;
    return in -> {
      Object value = number.read(in);
      return UTF8String.fromString(
          isUnsigned ? Long.toUnsignedString((Long) value) : value.toString());
    };
  }

  private static Scalar enumeration(FieldType.EnumType of) {
    Map<Integer, UTF8String> names = new HashMap<>();
    of.names().forEach((number, name) -> names.put(number, UTF8String.fromString(name)));
    return in -> {
      int number = (int) in.varint();
      UTF8String name = names.get(number);
      if (name == null && !of.isClosed()) {
        return UTF8String.fromString(Integer.toString(number));
      }
      return name;
    };
  }

  private static String nameOf(FieldType.EnumType of, int number) {
    return of.names().getOrDefault(number, Integer.toString(number));
  }

  /** Returns a text if it is UTF-8. */
  static UTF8String verified(UTF8String text) {
    if (!text.isFullAscii() && !text.isValid()) {
      throw new SerializationException("a text in the Protobuf message is not UTF-8");
    }
    return text;
  }
}
