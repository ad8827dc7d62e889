package org.duolog.kernel.functions.format;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Writes a row as JSON, or its only column without an object, byte for byte as ksqlDB does: with
 * nulls, DECIMAL with all digits, BYTES in base64, TIMESTAMP in milliseconds, DATE in days.
 *
 * <p>Threads: one at a time. Called from code that Spark generates. {@code duolog.serde.ksql_json}
 * writes the same.
 */
public final class KsqlJsonWriter implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long MICROS = 1000;

  private final StructType schema;
  private final boolean entries;
  private transient Item[] columns;

  /**
   * @param entries true to write all maps as arrays of objects with a key and a value, and not only
   *     those whose keys are not texts
   */
  public KsqlJsonWriter(StructType schema, boolean entries) {
    this.schema = schema;
    this.entries = entries;
  }

  /** Returns all columns as an object. */
  public byte[] write(InternalRow row) {
    return bytes(out -> fields(row, schema.fields(), columns(), out));
  }

  /** Returns the only column; null if it is null. */
  public byte[] writeAlone(InternalRow row) {
    return row.isNullAt(0) ? null : bytes(out -> columns()[0].write(row, 0, out));
  }

  private Item[] columns() {
    if (columns == null) {
      columns = items(schema, entries);
    }
    return columns;
  }

  private static byte[] bytes(Body body) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonGenerator out = JsonReader.FACTORY.createGenerator(bytes)) {
      body.write(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private interface Body {
    void write(JsonGenerator out) throws IOException;
  }

  /** Writes a value of a row or an array that is not null. */
  private interface Item {
    void write(SpecializedGetters values, int at, JsonGenerator out) throws IOException;
  }

  private static Item of(DataType type, boolean entries) {
    if (type instanceof StructType struct) {
      StructField[] fields = struct.fields();
      Item[] items = items(struct, entries);
      return (values, at, out) -> fields(values.getStruct(at, fields.length), fields, items, out);
    } else if (type instanceof ArrayType array) {
      Item element = of(array.elementType(), entries);
      return (values, at, out) -> array(values.getArray(at), element, out);
    } else if (type instanceof MapType map
        && (entries || !(map.keyType() instanceof StringType))) {
      Item key = of(map.keyType(), entries);
      Item value = of(map.valueType(), entries);
      return (values, at, out) -> entries(values.getMap(at), key, value, out);
    } else if (type instanceof MapType map) {
      Item value = of(map.valueType(), false);
      return (values, at, out) -> map(values.getMap(at), value, out);
    }
    return scalar(type);
  }

  private static Item scalar(DataType type) {
    if (type instanceof DecimalType decimal) {
      int precision = decimal.precision();
      int scale = decimal.scale();
      return (values, at, out) ->
          out.writeNumber(
              values.getDecimal(at, precision, scale).toJavaBigDecimal().toPlainString());
    } else if (type instanceof StringType) {
      return (values, at, out) -> out.writeString(values.getUTF8String(at).toString());
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return (values, at, out) -> out.writeNumber(values.getInt(at));
    } else if (type instanceof LongType) {
      return (values, at, out) -> out.writeNumber(values.getLong(at));
    } else if (type instanceof TimestampType) {
      return (values, at, out) -> out.writeNumber(Math.floorDiv(values.getLong(at), MICROS));
    } else if (type instanceof DoubleType) {
      return (values, at, out) -> out.writeNumber(values.getDouble(at));
    } else if (type instanceof BooleanType) {
      return (values, at, out) -> out.writeBoolean(values.getBoolean(at));
    } else if (type instanceof BinaryType) {
      return (values, at, out) -> out.writeBinary(values.getBinary(at));
    }
    throw new IllegalArgumentException("JSON cannot be written from " + type.sql());
  }

  private static Item[] items(StructType struct, boolean entries) {
    StructField[] fields = struct.fields();
    Item[] items = new Item[fields.length];
    for (int i = 0; i < fields.length; i++) {
      items[i] = of(fields[i].dataType(), entries);
    }
    return items;
  }

  private static void fields(
      InternalRow row, StructField[] fields, Item[] items, JsonGenerator out) throws IOException {
    out.writeStartObject();
    for (int i = 0; i < items.length; i++) {
      out.writeFieldName(fields[i].name());
      orNull(row, i, items[i], out);
    }
    out.writeEndObject();
  }

  private static void array(ArrayData values, Item element, JsonGenerator out) throws IOException {
    out.writeStartArray();
    for (int i = 0; i < values.numElements(); i++) {
      orNull(values, i, element, out);
    }
    out.writeEndArray();
  }

  private static void map(MapData map, Item value, JsonGenerator out) throws IOException {
    ArrayData keys = map.keyArray();
    ArrayData values = map.valueArray();
    out.writeStartObject();
    for (int i = 0; i < map.numElements(); i++) {
      out.writeFieldName(keys.getUTF8String(i).toString());
      orNull(values, i, value, out);
    }
    out.writeEndObject();
  }

  private static void entries(MapData map, Item key, Item value, JsonGenerator out)
      throws IOException {
    out.writeStartArray();
    for (int i = 0; i < map.numElements(); i++) {
      out.writeStartObject();
      out.writeFieldName(KsqlJsonEntries.KEY);
      orNull(map.keyArray(), i, key, out);
      out.writeFieldName(KsqlJsonEntries.VALUE);
      orNull(map.valueArray(), i, value, out);
      out.writeEndObject();
    }
    out.writeEndArray();
  }

  private static void orNull(SpecializedGetters values, int at, Item item, JsonGenerator out)
      throws IOException {
    if (values.isNullAt(at)) {
      out.writeNull();
    } else {
      item.write(values, at, out);
    }
  }
}
