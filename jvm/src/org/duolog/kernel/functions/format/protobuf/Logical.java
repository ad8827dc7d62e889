package org.duolog.kernel.functions.format.protobuf;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.duolog.kernel.functions.format.JsonValue;
import org.duolog.kernel.functions.format.TextNumbers;

/**
 * Messages that stand for one value of a column.
 *
 * @param columns the fields that count
 * @param of converts their values, in this order, to the value of the column
 */
record Logical(StructType columns, Function<Object[], Object> of) {
  static final String TIMESTAMP = "google.protobuf.Timestamp";
  static final String DATE = "google.type.Date";
  static final String TIME = "google.type.TimeOfDay";
  static final String DECIMAL = "confluent.type.Decimal";
  static final Set<String> WRAPPERS =
      Set.of(
          "google.protobuf.BoolValue",
          "google.protobuf.Int32Value",
          "google.protobuf.Int64Value",
          "google.protobuf.UInt32Value",
          "google.protobuf.UInt64Value",
          "google.protobuf.FloatValue",
          "google.protobuf.DoubleValue",
          "google.protobuf.StringValue",
          "google.protobuf.BytesValue");

  static final long MS_OF_SECOND = 1000;
  static final int NANOS_OF_MS = 1_000_000;
  static final long MS_OF_DAY = 86_400_000;
  static final int MICROS_OF_MS = 1000;
  static final int YEAR_MAX = 9999;

  /** Longer numbers are rejected, as {@link TextNumbers} does. */
  private static final int DIGITS_MAX = 1000;

  private static final int BITS_MAX = 4 * DIGITS_MAX;
  private static final int LONG_DIGITS = 19;

  /** Returns how a message stands for a type; null if it does not. */
  static Logical of(String message, DataType type) {
    if (message.equals(TIMESTAMP) && type instanceof TimestampType) {
      return new Logical(ints("nanos").add("seconds", DataTypes.LongType), Logical::timestamp);
    } else if (message.equals(DATE) && type instanceof DateType) {
      return new Logical(ints("year", "month", "day"), Logical::date);
    } else if (message.equals(TIME) && type instanceof ShortType) {
      return new Logical(ints("hours", "minutes", "seconds", "nanos"), Logical::time);
    } else if (message.equals(DECIMAL) && type instanceof DecimalType decimal) {
      StructType columns = ints("scale").add("value", DataTypes.BinaryType);
      return new Logical(columns, values -> decimal(values, decimal));
    }
    return null;
  }

  private static StructType ints(String... names) {
    StructType columns = new StructType();
    for (String name : names) {
      columns = columns.add(name, DataTypes.IntegerType);
    }
    return columns;
  }

  Object value(Object[] values) {
    return of.apply(values);
  }

  private static Object timestamp(Object[] values) {
    long seconds = (Long) values[1];
    long milliseconds = Math.floorDiv((Integer) values[0], NANOS_OF_MS);
    long all = Math.addExact(Math.multiplyExact(seconds, MS_OF_SECOND), milliseconds);
    if (all < JsonValue.TIMESTAMP_MS_MIN || all > JsonValue.TIMESTAMP_MS_MAX) {
      throw new ArithmeticException(all + " ms are not a timestamp");
    }
    return all * MICROS_OF_MS;
  }

  private static Object date(Object[] values) {
    int year = (Integer) values[0];
    if (year < 1 || year > YEAR_MAX) {
      throw new ArithmeticException("there is no year " + year);
    }
    return (int) LocalDate.of(year, (Integer) values[1], (Integer) values[2]).toEpochDay();
  }

  private static Object time(Object[] values) {
    long seconds = ((Integer) values[0] * 60L + (Integer) values[1]) * 60L + (Integer) values[2];
    long all = seconds * MS_OF_SECOND + Math.floorDiv((Integer) values[3], NANOS_OF_MS);
    if (all < 0 || all >= MS_OF_DAY) {
      throw new ArithmeticException(all + " ms are not a time of day");
    }
    return (int) all;
  }

  private static Object decimal(Object[] values, DecimalType type) {
    byte[] unscaled = values[1] == null ? new byte[1] : (byte[]) values[1];
    int scale = (Integer) values[0];
    BigInteger number = unscaled.length == 0 ? BigInteger.ZERO : new BigInteger(unscaled);
    if (number.signum() == 0 && scale < 0) {
      scale = 0;
    }
    if (number.bitLength() > BITS_MAX || Math.abs((long) scale) > DIGITS_MAX) {
      throw new ArithmeticException("the number has too many digits");
    }
    boolean isShort = number.bitLength() < Long.SIZE - 1 && type.precision() < LONG_DIGITS;
    if (scale == type.scale() && isShort) {
      long value = number.longValue();
      if (Math.abs(value) < Math.pow(10, type.precision())) {
        return Decimal.apply(value, type.precision(), type.scale());
      }
    }
    try {
      return TextNumbers.decimal(new BigDecimal(number, scale).toPlainString(), type);
    } catch (NumberFormatException e) {
      throw new SerializationException("the number does not fit " + type.sql(), e);
    }
  }
}
