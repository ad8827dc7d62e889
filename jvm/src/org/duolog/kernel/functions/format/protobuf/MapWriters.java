package org.duolog.kernel.functions.format.protobuf;

import java.util.Comparator;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.functions.format.protobuf.MessageWriter.FieldWriter;
import org.duolog.kernel.functions.format.protobuf.ScalarWriters.ScalarWriter;

/**
 * Writes maps.
 *
 * <pre>
 *   declared   map fields: entries in a fixed order, each with key and value
 *   entries    the repeated messages of Kafka Connect, in the order of the map
 * </pre>
 *
 * <p>The fixed order is that of Protobuf's C library (upb), which writes the same bytes in Python.
 */
final class MapWriters {
  private MapWriters() {}

  static FieldWriter declared(FieldType field, MapType map, String path) {
    FieldType keyField = field.message.field("key");
    ScalarWriter key = WriterMaker.scalar(keyField, map.keyType(), path + "{key}");
    FieldWriter value =
        WriterMaker.value(field.message.field("value"), map.valueType(), path + "{}");
    DataType keyType = map.keyType();
    return (values, at, out) -> {
      MapData data = values.getMap(at);
      ArrayData keys = data.keyArray();
      for (int i : ordered(keys, keyType)) {
        int after = WriterMaker.end(field, out);
        value.write(data.valueArray(), i, out);
        key.write(keys, i, true, out);
        out.tag(keyField.number, keyField.wireType());
        WriterMaker.start(field, after, out);
      }
    };
  }

  /** Returns the indexes of keys in the order of their entries in the bytes, the last first. */
  private static int[] ordered(ArrayData keys, DataType type) {
    Comparator<Integer> order;
    if (type instanceof BooleanType) {
      order = Comparator.comparing(keys::getBoolean);
    } else if (type instanceof IntegerType) {
      order = (one, other) -> Integer.compareUnsigned(keys.getInt(one), keys.getInt(other));
    } else if (type instanceof LongType) {
      order = (one, other) -> Long.compareUnsigned(keys.getLong(one), keys.getLong(other));
    } else {
      order = (one, other) -> textOrder(keys.getUTF8String(one), keys.getUTF8String(other));
    }
    return IntStream.range(0, keys.numElements())
        .boxed()
        .sorted(order)
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** The larger text first; of two, of which one starts with the other, the shorter first. */
  private static int textOrder(UTF8String one, UTF8String other) {
    boolean isStart = one.startsWith(other) || other.startsWith(one);
    return isStart ? one.numBytes() - other.numBytes() : other.binaryCompare(one);
  }

  static FieldWriter entries(FieldType field, MapType map, String path) {
    FieldType keyField = field.message.field("key");
    FieldType valueField = field.message.field("value");
    FieldWriter key = WriterMaker.part(field.message, "key", map.keyType(), path + "{key}");
    FieldWriter value = WriterMaker.part(field.message, "value", map.valueType(), path + "{}");
    boolean isKeyLast = keyField.number > valueField.number;
    return (values, at, out) -> {
      MapData data = values.getMap(at);
      ArrayData keys = data.keyArray();
      ArrayData items = data.valueArray();
      for (int i = keys.numElements() - 1; i >= 0; i--) {
        int after = WriterMaker.end(field, out);
        WriterMaker.present(keys, i, path);
        if (isKeyLast) {
          key.write(keys, i, out);
        }
        if (!items.isNullAt(i)) {
          value.write(items, i, out);
        }
        if (!isKeyLast) {
          key.write(keys, i, out);
        }
        WriterMaker.start(field, after, out);
      }
    };
  }
}
