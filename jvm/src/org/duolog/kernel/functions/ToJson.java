package org.duolog.kernel.functions;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.Serializable;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Renders any value as JSON for people: without blanks, with nulls.
 *
 * <pre>
 *   BYTES      "IQ=="                            DATE   "1972-09-27"
 *   TIMESTAMP  "1971-11-28T23:46:40.000", UTC    TIME   "13:05", "13:05:07.250"
 * </pre>
 *
 * <p>In a row a TIME is a number of milliseconds, so the type of the value determines which numbers
 * are TIMEs. Threads: any. Called from code that Spark generates. Source: ksqlDB's TO_JSON_STRING.
 */
public final class ToJson implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long NANOS_OF_MILLI = 1_000_000;
  private static final long MICROS_OF_SECOND = 1_000_000;
  private static final JsonFactory FACTORY = new JsonFactory();
  private static final DateTimeFormatter TIMESTAMP =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS");

  private final DataType type;

  ToJson(DataType type) {
    this.type = type;
  }

  /** Renders the only field of a row. */
  public UTF8String write(InternalRow row) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = FACTORY.createGenerator(text)) {
      write(out, row.isNullAt(0) ? null : row.get(0, inRow(type)), type);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return UTF8String.fromString(text.toString());
  }

  /** Returns the type of a value in a row. */
  private static DataType inRow(DataType type) {
    return type instanceof TimeType ? DataTypes.IntegerType : type;
  }

  private static void write(JsonGenerator out, Object value, DataType type) throws IOException {
    if (value == null) {
      out.writeNull();
    } else if (type instanceof StructType struct) {
      writeStruct(out, (InternalRow) value, struct);
    } else if (type instanceof ArrayType array) {
      writeArray(out, (ArrayData) value, array.elementType());
    } else if (type instanceof MapType map) {
      writeMap(out, (MapData) value, map);
    } else if (type instanceof IntegerType) {
      out.writeNumber((Integer) value);
    } else if (type instanceof LongType) {
      out.writeNumber((Long) value);
    } else if (type instanceof DoubleType) {
      out.writeNumber((Double) value);
    } else if (type instanceof DecimalType) {
      out.writeNumber(((Decimal) value).toJavaBigDecimal());
    } else if (type instanceof BooleanType) {
      out.writeBoolean((Boolean) value);
    } else if (type instanceof BinaryType) {
      out.writeBinary((byte[]) value);
    } else {
      out.writeString(text(value, type));
    }
  }

  private static String text(Object value, DataType type) {
    if (type instanceof DateType) {
      return LocalDate.ofEpochDay((Integer) value).toString();
    } else if (type instanceof TimeType) {
      return LocalTime.ofNanoOfDay((Integer) value * NANOS_OF_MILLI).toString();
    } else if (type instanceof TimestampType) {
      long seconds = Math.floorDiv((Long) value, MICROS_OF_SECOND);
      long micros = Math.floorMod((Long) value, MICROS_OF_SECOND);
      return LocalDateTime.ofEpochSecond(seconds, (int) micros * 1000, ZoneOffset.UTC)
          .format(TIMESTAMP);
    }
    return value.toString();
  }

  private static void writeStruct(JsonGenerator out, InternalRow row, StructType type)
      throws IOException {
    out.writeStartObject();
    StructField[] fields = type.fields();
    for (int i = 0; i < fields.length; i++) {
      StructField field = fields[i];
      out.writeFieldName(field.name());
      write(out, row.isNullAt(i) ? null : row.get(i, inRow(field.dataType())), field.dataType());
    }
    out.writeEndObject();
  }

  private static void writeArray(JsonGenerator out, ArrayData array, DataType element)
      throws IOException {
    out.writeStartArray();
    for (int i = 0; i < array.numElements(); i++) {
      write(out, array.isNullAt(i) ? null : array.get(i, inRow(element)), element);
    }
    out.writeEndArray();
  }

  private static void writeMap(JsonGenerator out, MapData map, MapType type) throws IOException {
    ArrayData keys = map.keyArray();
    ArrayData values = map.valueArray();
    DataType of = type.valueType();
    out.writeStartObject();
    for (int i = 0; i < map.numElements(); i++) {
      out.writeFieldName(keys.get(i, inRow(type.keyType())).toString());
      write(out, values.isNullAt(i) ? null : values.get(i, inRow(of)), of);
    }
    out.writeEndObject();
  }
}
