package org.duolog.kernel.functions;

import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Encodes values of one type as bytes with the same order and equality. A MAP has no order; its
 * entries are sorted by their bytes.
 *
 * <pre>
 *   whole number, date, time   big-endian, with inverted sign bit
 *   DOUBLE                     the same for its bits, all inverted if negative; NaN last, no -0.0
 *   DECIMAL                    the same for its digits, in 16 bytes
 *   STRING, BYTES              unchanged; within another value 0 as 0 255, and 0 0 at the end
 *   ARRAY                      for each element 1 (null), or 2 and its bytes; then 0
 *   STRUCT                     for each field the same, without an end
 *   MAP                        for each entry 2, key and value the same, ascending; then 0
 * </pre>
 *
 * <p>Part of the checkpoint format. Threads: any.
 */
final class OrderedBytes implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int DECIMAL_BYTES = 16;
  private static final int END = 0;
  private static final int NULL = 1;
  private static final int VALUE = 2;

  private final DataType type;

  OrderedBytes(DataType type) {
    this.type = type;
  }

  DataType type() {
    return type;
  }

  /** Returns the bytes of a row's only column, or null. */
  byte[] encode(InternalRow row) {
    if (row == null || row.isNullAt(0)) {
      return null;
    }
    Object value = row.get(0, type);
    if (value instanceof UTF8String text) {
      return text.getBytes();
    }
    if (value instanceof byte[] bytes) {
      return bytes;
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    write(out, value, type);
    return out.toByteArray();
  }

  Object decode(byte[] bytes) {
    if (type instanceof StringType) {
      return UTF8String.fromBytes(bytes);
    }
    return type instanceof BinaryType ? bytes : read(ByteBuffer.wrap(bytes), type);
  }

  private static void write(ByteArrayOutputStream out, Object value, DataType type) {
    if (value instanceof Boolean flag) {
      out.write(flag ? 1 : 0);
    } else if (value instanceof Integer number) {
      int bits = number ^ Integer.MIN_VALUE;
      out.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(bits).array());
    } else if (value instanceof Long number) {
      writeLong(out, number);
    } else if (value instanceof Double number) {
      // Adding 0.0 removes the sign of -0.0.
      long bits = Double.doubleToLongBits(number + 0.0);
      writeLong(out, bits < 0 ? ~bits ^ Long.MIN_VALUE : bits);
    } else if (value instanceof Decimal number) {
      writeDigits(out, number.toJavaBigDecimal().unscaledValue());
    } else if (value instanceof UTF8String text) {
      writeText(out, text.getBytes());
    } else if (value instanceof byte[] bytes) {
      writeText(out, bytes);
    } else if (value instanceof ArrayData array) {
      DataType of = ((ArrayType) type).elementType();
      for (int i = 0; i < array.numElements(); i++) {
        writePart(out, array.isNullAt(i) ? null : array.get(i, of), of);
      }
      out.write(END);
    } else if (value instanceof MapData map) {
      writeEntries(out, map, (MapType) type);
    } else {
      InternalRow row = (InternalRow) value;
      StructType struct = (StructType) type;
      for (int i = 0; i < struct.size(); i++) {
        DataType of = struct.apply(i).dataType();
        writePart(out, row.isNullAt(i) ? null : row.get(i, of), of);
      }
    }
  }

  private static void writeEntries(ByteArrayOutputStream out, MapData map, MapType type) {
    List<byte[]> entries = new ArrayList<>();
    for (int i = 0; i < map.numElements(); i++) {
      ByteArrayOutputStream entry = new ByteArrayOutputStream();
      entry.write(VALUE);
      writePart(entry, map.keyArray().get(i, type.keyType()), type.keyType());
      boolean isNull = map.valueArray().isNullAt(i);
      writePart(entry, isNull ? null : map.valueArray().get(i, type.valueType()), type.valueType());
      entries.add(entry.toByteArray());
    }
    entries.sort(Arrays::compareUnsigned);
    entries.forEach(out::writeBytes);
    out.write(END);
  }

  private static void writeLong(ByteArrayOutputStream out, long value) {
    out.writeBytes(ByteBuffer.allocate(Long.BYTES).putLong(value ^ Long.MIN_VALUE).array());
  }

  private static void writeDigits(ByteArrayOutputStream out, BigInteger digits) {
    byte[] bytes = digits.toByteArray();
    byte sign = (byte) (digits.signum() < 0 ? -1 : 0);
    byte[] wide = new byte[DECIMAL_BYTES];
    Arrays.fill(wide, sign);
    System.arraycopy(bytes, 0, wide, DECIMAL_BYTES - bytes.length, bytes.length);
    wide[0] ^= Byte.MIN_VALUE;
    out.writeBytes(wide);
  }

  private static void writeText(ByteArrayOutputStream out, byte[] bytes) {
    for (byte one : bytes) {
      out.write(one);
      if (one == 0) {
        out.write(0xff);
      }
    }
    out.write(0);
    out.write(0);
  }

  private static void writePart(ByteArrayOutputStream out, Object value, DataType type) {
    out.write(value == null ? NULL : VALUE);
    if (value != null) {
      write(out, value, type);
    }
  }

  private static Object read(ByteBuffer in, DataType type) {
    if (type instanceof BooleanType) {
      return in.get() != 0;
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return in.getInt() ^ Integer.MIN_VALUE;
    }
    if (type instanceof LongType || type instanceof TimestampType) {
      return in.getLong() ^ Long.MIN_VALUE;
    }
    if (type instanceof DoubleType) {
      long bits = in.getLong() ^ Long.MIN_VALUE;
      return Double.longBitsToDouble(bits < 0 ? ~bits ^ Long.MIN_VALUE : bits);
    }
    if (type instanceof DecimalType decimal) {
      byte[] digits = new byte[DECIMAL_BYTES];
      in.get(digits);
      digits[0] ^= Byte.MIN_VALUE;
      return Decimal.apply(
          new BigDecimal(new BigInteger(digits), decimal.scale()),
          decimal.precision(),
          decimal.scale());
    }
    if (type instanceof StringType) {
      return UTF8String.fromBytes(readText(in));
    }
    if (type instanceof BinaryType) {
      return readText(in);
    }
    if (type instanceof ArrayType array) {
      List<Object> elements = new ArrayList<>();
      for (int mark = in.get(); mark != END; mark = in.get()) {
        elements.add(mark == NULL ? null : read(in, array.elementType()));
      }
      return new GenericArrayData(elements.toArray());
    }
    if (type instanceof MapType map) {
      return readEntries(in, map);
    }
    StructType struct = (StructType) type;
    Object[] fields = new Object[struct.size()];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = in.get() == NULL ? null : read(in, struct.apply(i).dataType());
    }
    return new GenericInternalRow(fields);
  }

  private static MapData readEntries(ByteBuffer in, MapType type) {
    List<Object> keys = new ArrayList<>();
    List<Object> values = new ArrayList<>();
    while (in.get() != END) {
      in.get();
      keys.add(read(in, type.keyType()));
      values.add(in.get() == NULL ? null : read(in, type.valueType()));
    }
    return new ArrayBasedMapData(
        new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
  }

  private static byte[] readText(ByteBuffer in) {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    while (true) {
      byte one = in.get();
      if (one == 0 && in.get() == 0) {
        return text.toByteArray();
      }
      text.write(one);
    }
  }
}
