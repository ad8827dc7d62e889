package org.duolog.kernel.functions.format.protobuf;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimestampType;

/** Writes the messages that stand for one value; see {@link Logical}. */
final class LogicalWriter {
  private static final long SECONDS_OF_MINUTE = 60;

  private final List<Part> parts;

  private LogicalWriter(List<Part> parts) {
    this.parts = parts;
    parts.sort(Comparator.comparingInt((Part part) -> part.field.number).reversed());
  }

  /** A field of the message: a number, or bytes. */
  private record Part(FieldType field, Whole value, Unscaled unscaled) {}

  /** Returns a number that is written. */
  private interface Whole {
    long of(SpecializedGetters values, int at);
  }

  /** Returns bytes that are written. */
  private interface Unscaled {
    byte[] of(SpecializedGetters values, int at);
  }

  /** Returns the writer of a type as a message; null if the message does not stand for it. */
  static LogicalWriter of(MessageType message, DataType type) {
    List<Part> parts = new ArrayList<>();
    String name = message.fullName;
    if (name.equals(Logical.TIMESTAMP) && type instanceof TimestampType) {
      long ms = Logical.MS_OF_SECOND;
      number(message, "seconds", parts, (row, at) -> Math.floorDiv(milliseconds(row, at), ms));
      number(message, "nanos", parts, (row, at) -> nanos(milliseconds(row, at)));
    } else if (name.equals(Logical.DATE) && type instanceof DateType) {
      number(message, "year", parts, (row, at) -> day(row, at).getYear());
      number(message, "month", parts, (row, at) -> day(row, at).getMonthValue());
      number(message, "day", parts, (row, at) -> day(row, at).getDayOfMonth());
    } else if (name.equals(Logical.TIME) && type instanceof ShortType) {
      long minute = Logical.MS_OF_SECOND * SECONDS_OF_MINUTE;
      long hour = minute * SECONDS_OF_MINUTE;
      number(message, "hours", parts, (row, at) -> Math.floorDiv(row.getInt(at), hour));
      number(message, "minutes", parts, (row, at) -> Math.floorMod(row.getInt(at), hour) / minute);
      number(
          message,
          "seconds",
          parts,
          (row, at) -> Math.floorMod(row.getInt(at), minute) / Logical.MS_OF_SECOND);
      number(message, "nanos", parts, (row, at) -> nanos(row.getInt(at)));
    } else if (name.equals(Logical.DECIMAL) && type instanceof DecimalType decimal) {
      number(message, "precision", parts, (row, at) -> decimal.precision());
      number(message, "scale", parts, (row, at) -> decimal.scale());
      parts.add(new Part(message.field("value"), null, (row, at) -> unscaled(row, at, decimal)));
    } else {
      return null;
    }
    return new LogicalWriter(parts);
  }

  private static void number(MessageType message, String name, List<Part> parts, Whole value) {
    parts.add(new Part(message.field(name), value, null));
  }

  private static long milliseconds(SpecializedGetters values, int at) {
    return Math.floorDiv(values.getLong(at), (long) Logical.MICROS_OF_MS);
  }

  private static long nanos(long milliseconds) {
    return Math.floorMod(milliseconds, Logical.MS_OF_SECOND) * Logical.NANOS_OF_MS;
  }

  private static LocalDate day(SpecializedGetters values, int at) {
    return LocalDate.ofEpochDay(values.getInt(at));
  }

  private static byte[] unscaled(SpecializedGetters values, int at, DecimalType type) {
    BigDecimal value =
        values.getDecimal(at, type.precision(), type.scale()).toJavaBigDecimal();
    return value.setScale(type.scale(), RoundingMode.DOWN).unscaledValue().toByteArray();
  }

  /** Writes the fields of the message. */
  void write(SpecializedGetters values, int at, ReversedOutput out) {
    for (Part part : parts) {
      FieldType field = part.field;
      boolean isWritten = true;
      if (part.value != null) {
        long number = part.value.of(values, at);
        isWritten = ScalarWriters.number(field.type, number, field.hasPresence(), out);
      } else {
        byte[] bytes = part.unscaled.of(values, at);
        out.raw(bytes);
        out.varint(bytes.length);
      }
      if (isWritten) {
        out.tag(field.number, field.wireType());
      }
    }
  }
}
