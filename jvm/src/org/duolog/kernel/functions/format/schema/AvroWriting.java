package org.duolog.kernel.functions.format.schema;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;

/**
 * Writes a value of a column as a value of a schema's type. The instances are compiled from both
 * types; the rules are those of {@code duolog.serde.avro_writing}.
 */
@FunctionalInterface
interface AvroWriting {
  void write(SpecializedGetters values, int at, AvroOutput out);

  /**
   * Compiles a writer; a SerializationException if no value of the column is a value of the type.
   */
  static AvroWriting of(Schema schema, DataType column, String path) {
    if (!schema.isUnion()) {
      return present(definite(schema, column, path), path);
    }
    List<Schema> branches = schema.getTypes();
    int none = -1;
    int only = -1;
    int others = 0;
    for (int i = 0; i < branches.size(); i++) {
      if (AvroTypes.isNull(branches.get(i))) {
        none = i;
      } else {
        only = i;
        others++;
      }
    }
    AvroWriting inner;
    if (others == 1) {
      AvroWriting value = definite(branches.get(only), column, path);
      int branch = only;
      inner =
          (values, at, out) -> {
            out.number(branch);
            value.write(values, at, out);
          };
    } else if (column instanceof StructType struct) {
      inner = AvroBranches.of(branches, struct, path);
    } else {
      throw AvroTypes.mismatch("write", schema, column, path);
    }
    if (none < 0) {
      return present(inner, path);
    }
    int nullBranch = none;
    return (values, at, out) -> {
      if (values.isNullAt(at)) {
        out.number(nullBranch);
      } else {
        inner.write(values, at, out);
      }
    };
  }

  private static AvroWriting present(AvroWriting inner, String path) {
    return (values, at, out) -> {
      if (values.isNullAt(at)) {
        throw isNull(path);
      }
      inner.write(values, at, out);
    };
  }

  static SerializationException isNull(String path) {
    return new SerializationException(
        String.format("the Avro schema does not allow null in \"%s\"", path));
  }

  /** Compiles a writer for values that are not null. */
  static AvroWriting definite(Schema schema, DataType column, String path) {
    Schema.Type kind = schema.getType();
    boolean isEntries = AvroTypes.entryOf(schema) != null;
    if (column instanceof StructType struct && kind == Schema.Type.RECORD) {
      return record(schema, struct, path);
    } else if (column instanceof ArrayType array && kind == Schema.Type.ARRAY && !isEntries) {
      AvroWriting item = of(schema.getElementType(), array.elementType(), path + "[]");
      return (values, at, out) -> array(values.getArray(at), item, out);
    } else if (column instanceof MapType map) {
      return map(schema, map, path);
    } else if (column instanceof DecimalType decimal && AvroTypes.decimal(schema) != null) {
      return decimal(schema, AvroTypes.decimal(schema), decimal);
    }
    AvroWriting found = AvroTypes.isTime(column) ? time(schema, column) : plain(schema, column);
    if (found == null) {
      throw AvroTypes.mismatch("write", schema, column, path);
    }
    return found;
  }

  private static AvroWriting record(Schema record, StructType columns, String path) {
    List<Schema.Field> fields = record.getFields();
    String[] matched =
        Matching.fields(fields.stream().map(Schema.Field::name).toList(), columns);
    Map<String, Integer> places = new HashMap<>();
    for (int i = 0; i < matched.length; i++) {
      if (matched[i] != null) {
        places.put(matched[i], i);
      }
    }
    AvroWriting[] writers = new AvroWriting[fields.size()];
    int[] from = new int[fields.size()];
    for (int i = 0; i < writers.length; i++) {
      Schema.Field field = fields.get(i);
      String below = path.isEmpty() ? field.name() : path + "." + field.name();
      Integer place = places.get(field.name());
      from[i] = place == null ? 0 : place;
      writers[i] =
          place == null
              ? AvroDefaults.missing(field, below)
              : field(field, columns.fields()[place].dataType(), below);
    }
    int count = columns.length();
    return (values, at, out) -> {
      SpecializedGetters row = values.getStruct(at, count);
      for (int i = 0; i < writers.length; i++) {
        writers[i].write(row, from[i], out);
      }
    };
  }

  private static AvroWriting field(Schema.Field field, DataType column, String path) {
    AvroWriting write = of(field.schema(), column, path);
    if (!field.hasDefaultValue() || AvroTypes.isNullable(field.schema())) {
      return write;
    }
    byte[] otherwise = AvroDefaults.bytes(field);
    return (values, at, out) -> {
      if (values.isNullAt(at)) {
        out.raw(otherwise);
      } else {
        write.write(values, at, out);
      }
    };
  }

  private static void array(ArrayData items, AvroWriting item, AvroOutput out) {
    int count = items.numElements();
    if (count > 0) {
      out.number(count);
      for (int i = 0; i < count; i++) {
        item.write(items, i, out);
      }
    }
    out.number(0);
  }

  private static AvroWriting map(Schema schema, MapType column, String path) {
    Schema entry = AvroTypes.entryOf(schema);
    if (entry != null) {
      AvroWriting key =
          of(entry.getField(AvroTypes.KEY).schema(), column.keyType(), path + "{key}");
      AvroWriting value =
          of(entry.getField(AvroTypes.VALUE).schema(), column.valueType(), path + "{}");
      boolean isKeyFirst = entry.getFields().get(0).name().equals(AvroTypes.KEY);
      return (values, at, out) -> map(values.getMap(at), key, value, isKeyFirst, out);
    }
    if (schema.getType() == Schema.Type.MAP && column.keyType() instanceof StringType) {
      AvroWriting key = (values, at, out) -> out.counted(values.getUTF8String(at).getBytes());
      AvroWriting value = of(schema.getValueType(), column.valueType(), path + "{}");
      return (values, at, out) -> map(values.getMap(at), key, value, true, out);
    }
    throw AvroTypes.mismatch("write", schema, column, path);
  }

  private static void map(
      MapData map, AvroWriting key, AvroWriting value, boolean isKeyFirst, AvroOutput out) {
    int count = map.numElements();
    if (count > 0) {
      ArrayData keys = map.keyArray();
      ArrayData values = map.valueArray();
      out.number(count);
      for (int i = 0; i < count; i++) {
        (isKeyFirst ? key : value).write(isKeyFirst ? keys : values, i, out);
        (isKeyFirst ? value : key).write(isKeyFirst ? values : keys, i, out);
      }
    }
    out.number(0);
  }

  private static AvroWriting decimal(
      Schema schema, LogicalTypes.Decimal logical, DecimalType column) {
    int precision = column.precision();
    int scale = column.scale();
    BigInteger limit = BigInteger.TEN.pow(logical.getPrecision());
    boolean isFixed = schema.getType() == Schema.Type.FIXED;
    int size = isFixed ? schema.getFixedSize() : 0;
    return (values, at, out) -> {
      BigInteger unscaled =
          values
              .getDecimal(at, precision, scale)
              .toJavaBigDecimal()
              .setScale(logical.getScale()) // An ArithmeticException if digits would be lost.
              .unscaledValue();
      if (unscaled.abs().compareTo(limit) >= 0) {
        throw new SerializationException(
            String.format(
                "%s is not a decimal(%d,%d) of Avro",
                values.getDecimal(at, precision, scale), logical.getPrecision(),
                logical.getScale()));
      }
      byte[] bytes = unscaled.toByteArray();
      if (isFixed) {
        out.raw(AvroDefaults.padded(bytes, size));
      } else {
        out.counted(bytes);
      }
    };
  }

  private static AvroWriting time(Schema schema, DataType column) {
    int units = AvroTypes.perMillisecond(schema, column);
    if (units == 0) {
      return null;
    } else if (column instanceof DateType) {
      return (values, at, out) -> out.number(values.getInt(at));
    } else if (column instanceof TimestampType) {
      return (values, at, out) ->
          out.number(Math.multiplyExact(Math.floorDiv(values.getLong(at), 1000L), (long) units));
    }
    return (values, at, out) -> out.number(values.getInt(at) * (long) units);
  }

  /** Returns null if the type has no values of the column. */
  private static AvroWriting plain(Schema schema, DataType column) {
    return switch (column.sql() + " " + schema.getType()) {
      case "BOOLEAN BOOLEAN" -> (values, at, out) -> out.bool(values.getBoolean(at));
      case "INT INT", "INT LONG" -> (values, at, out) -> out.number(values.getInt(at));
      case "BIGINT LONG" -> (values, at, out) -> out.number(values.getLong(at));
      case "DOUBLE FLOAT" -> (values, at, out) -> out.real((float) values.getDouble(at));
      case "DOUBLE DOUBLE" -> (values, at, out) -> out.doubleReal(values.getDouble(at));
      case "STRING STRING" ->
          (values, at, out) -> out.counted(values.getUTF8String(at).getBytes());
      case "STRING ENUM" -> symbol(schema);
      case "BINARY BYTES" -> (values, at, out) -> out.counted(values.getBinary(at));
      case "BINARY FIXED" -> fixed(schema.getFixedSize());
      default -> null;
    };
  }

  private static AvroWriting symbol(Schema schema) {
    return (values, at, out) -> {
      String text = values.getUTF8String(at).toString();
      if (!schema.hasEnumSymbol(text)) {
        throw new SerializationException(
            String.format("\"%s\" is not a symbol of the Avro enum", text));
      }
      out.number(schema.getEnumOrdinal(text));
    };
  }

  private static AvroWriting fixed(int size) {
    return (values, at, out) -> {
      byte[] bytes = values.getBinary(at);
      if (bytes.length != size) {
        throw new SerializationException(
            String.format("%d bytes are not a fixed of %d bytes", bytes.length, size));
      }
      out.raw(bytes);
    };
  }
}
