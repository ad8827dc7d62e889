package org.duolog.kernel.functions.format.schema;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.duolog.kernel.functions.format.DecimalTexts;
import org.duolog.kernel.functions.format.JsonValue;
import org.duolog.kernel.functions.format.KsqlJson;

/**
 * Reads the next value of a writer's type as a value of a column, which may be null. The instances
 * are compiled from both types; the table of types is that of {@code duolog.serde.avro_reading}.
 */
@FunctionalInterface
interface AvroReading {
  /** Longer numbers are rejected, as {@code TextNumbers} does: their texts would cost too much. */
  int DECIMAL_DIGITS_MAX = 1000;

  int DECIMAL_BITS_MAX = 4 * DECIMAL_DIGITS_MAX;

  Object read(AvroInput in);

  /**
   * Compiles a reader; a SerializationException if no value of the writer's type is a value of the
   * column.
   */
  static AvroReading of(Schema schema, DataType column, String path) {
    return schema.isUnion() ? union(schema, column, path) : definite(schema, column, path);
  }

  private static AvroReading union(Schema union, DataType column, String path) {
    List<Schema> branches = union.getTypes();
    AvroReading[] readers = new AvroReading[branches.size()];
    long others = branches.stream().filter(branch -> !AvroTypes.isNull(branch)).count();
    if (others != 1 && !(column instanceof StructType)) {
      throw AvroTypes.mismatch("read", union, column, path);
    }
    for (int i = 0; i < readers.length; i++) {
      Schema branch = branches.get(i);
      if (AvroTypes.isNull(branch)) {
        readers[i] = in -> null;
      } else if (others == 1) {
        readers[i] = definite(branch, column, path);
      } else {
        readers[i] = branch(branch, union, (StructType) column, path);
      }
    }
    return in -> readers[in.choice(readers.length)].read(in);
  }

  /** Returns a row in which the column of a branch is set. */
  private static AvroReading branch(Schema branch, Schema union, StructType columns, String path) {
    String name = AvroTypes.branchName(branch);
    List<String> names =
        union.getTypes().stream()
            .filter(one -> !AvroTypes.isNull(one))
            .map(AvroTypes::branchName)
            .toList();
    String[] fields = Matching.fields(names, columns);
    int place = -1;
    for (int i = 0; i < fields.length; i++) {
      place = name.equals(fields[i]) ? i : place;
    }
    int at = place;
    AvroReading inner =
        at < 0
            ? AvroSkipping.of(branch)
            : definite(
                branch,
                columns.fields()[at].dataType(),
                path.isEmpty() ? name : path + "." + name);
    return in -> {
      Object[] values = new Object[fields.length];
      Object value = inner.read(in);
      if (at >= 0) {
        values[at] = value;
      }
      return new GenericInternalRow(values);
    };
  }

  /** Compiles a reader for values that are not null. */
  private static AvroReading definite(Schema schema, DataType column, String path) {
    Schema.Type kind = schema.getType();
    if (column instanceof StructType struct && kind == Schema.Type.RECORD) {
      return record(schema, struct, path);
    } else if (column instanceof ArrayType array && kind == Schema.Type.ARRAY) {
      return array(of(schema.getElementType(), array.elementType(), path + "[]"));
    } else if (column instanceof MapType map) {
      return map(schema, map, path);
    } else if (column instanceof DecimalType decimal && AvroTypes.decimal(schema) != null) {
      return decimal(schema, AvroTypes.decimal(schema), decimal);
    }
    AvroReading found = AvroTypes.isTime(column) ? time(schema, column) : plain(schema, column);
    if (found == null) {
      throw AvroTypes.mismatch("read", schema, column, path);
    }
    return found;
  }

  private static AvroReading record(Schema record, StructType columns, String path) {
    List<String> names = record.getFields().stream().map(Schema.Field::name).toList();
    String[] fields = Matching.fields(names, columns);
    List<AvroReading> steps = new ArrayList<>();
    List<Integer> places = new ArrayList<>();
    List<Boolean> again = new ArrayList<>();
    for (Schema.Field field : record.getFields()) {
      boolean isRead = false;
      for (int i = 0; i < fields.length; i++) {
        if (field.name().equals(fields[i])) {
          String column = columns.fieldNames()[i];
          String below = path.isEmpty() ? column : path + "." + column;
          steps.add(of(field.schema(), columns.fields()[i].dataType(), below));
          places.add(i);
          again.add(isRead);
          isRead = true;
        }
      }
      if (!isRead) {
        steps.add(AvroSkipping.of(field.schema()));
        places.add(-1);
        again.add(false);
      }
    }
    return new AvroRecord(steps, places, again, fields.length);
  }

  private static AvroReading array(AvroReading item) {
    return in -> {
      List<Object> items = new ArrayList<>();
      for (int left = in.block(); left > 0; left = in.block()) {
        for (; left > 0; left--) {
          int start = in.at;
          items.add(item.read(in));
          in.ensureUsed(start);
        }
      }
      return new GenericArrayData(items.toArray());
    };
  }

  private static AvroReading map(Schema schema, MapType column, String path) {
    boolean hasTexts = column.keyType() instanceof StringType;
    if (schema.getType() == Schema.Type.MAP && hasTexts) {
      AvroReading value = of(schema.getValueType(), column.valueType(), path + "{}");
      return in -> {
        Map<Object, Object> items = new LinkedHashMap<>();
        for (int left = in.block(); left > 0; left = in.block()) {
          for (; left > 0; left--) {
            Object key = in.text();
            items.put(key, value.read(in));
          }
        }
        return asMap(items);
      };
    }
    Schema entry = AvroTypes.entryOf(schema);
    if (entry == null) {
      throw AvroTypes.mismatch("read", schema, column, path);
    }
    AvroReading key =
        of(entry.getField(AvroTypes.KEY).schema(), column.keyType(), path + "{key}");
    AvroReading value =
        of(entry.getField(AvroTypes.VALUE).schema(), column.valueType(), path + "{}");
    return entries(key, value, entry.getFields().get(0).name().equals(AvroTypes.KEY));
  }

  /** The last value of an equal key counts. Spark's maps have no null keys. */
  private static AvroReading entries(AvroReading key, AvroReading value, boolean isKeyFirst) {
    return in -> {
      Map<Object, Object> items = new LinkedHashMap<>();
      for (int left = in.block(); left > 0; left = in.block()) {
        for (; left > 0; left--) {
          int start = in.at;
          Object first = (isKeyFirst ? key : value).read(in);
          Object second = (isKeyFirst ? value : key).read(in);
          in.ensureUsed(start);
          Object found = isKeyFirst ? first : second;
          if (found == null) {
            throw new SerializationException("a key of a map is null");
          }
          Object compared = found instanceof byte[] bytes ? ByteBuffer.wrap(bytes) : found;
          items.put(compared, isKeyFirst ? second : first);
        }
      }
      return asMap(items);
    };
  }

  private static Object asMap(Map<Object, Object> items) {
    Object[] keys = items.keySet().toArray();
    for (int i = 0; i < keys.length; i++) {
      keys[i] = keys[i] instanceof ByteBuffer bytes ? bytes.array() : keys[i];
    }
    return new ArrayBasedMapData(
        new GenericArrayData(keys),
        new GenericArrayData(items.values().toArray()));
  }

  private static AvroReading decimal(
      Schema schema, LogicalTypes.Decimal logical, DecimalType column) {
    int scale = logical.getScale();
    boolean isFixed = schema.getType() == Schema.Type.FIXED;
    int size = isFixed ? schema.getFixedSize() : 0;
    return in -> {
      byte[] unscaled = isFixed ? in.fixed(size) : in.bytes();
      BigInteger number = unscaled.length == 0 ? BigInteger.ZERO : new BigInteger(unscaled);
      if (number.bitLength() > DECIMAL_BITS_MAX || scale > DECIMAL_DIGITS_MAX) {
        throw new SerializationException("an Avro decimal has too many digits");
      }
      return DecimalTexts.exact(new BigDecimal(number, scale), column);
    };
  }

  private static AvroReading time(Schema schema, DataType column) {
    int units = AvroTypes.perMillisecond(schema, column);
    if (units == 0) {
      return null;
    } else if (column instanceof DateType) {
      return in -> (int) within(in.integer(), KsqlJson.DAYS_MIN, KsqlJson.DAYS_MAX);
    } else if (column instanceof TimestampType) {
      return in ->
          within(
                  Math.floorDiv(in.number(), units),
                  JsonValue.TIMESTAMP_MS_MIN,
                  JsonValue.TIMESTAMP_MS_MAX)
              * 1000;
    }
    return in ->
        (int) within(Math.floorDiv(in.number(), units), Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  private static long within(long value, long min, long max) {
    if (value < min || value > max) {
      throw new SerializationException(
          String.format("%d is not within %d and %d, the limits of its column", value, min, max));
    }
    return value;
  }

  /** Returns null if no value of the writer's type is a value of the column. */
  private static AvroReading plain(Schema schema, DataType column) {
    if (column instanceof StringType) {
      return AvroTexts.of(schema);
    }
    return switch (column.sql() + " " + schema.getType()) {
      case "BOOLEAN BOOLEAN" -> AvroInput::bool;
      case "INT INT" -> AvroInput::integer;
      case "BIGINT INT" -> in -> (long) in.integer();
      case "BIGINT LONG" -> AvroInput::number;
      case "DOUBLE FLOAT" -> in -> (double) in.real();
      case "DOUBLE DOUBLE" -> AvroInput::doubleReal;
      case "BINARY BYTES" -> AvroInput::bytes;
      case "BINARY FIXED" -> {
        int size = schema.getFixedSize();
        yield in -> in.fixed(size);
      }
      default -> null;
    };
  }
}
