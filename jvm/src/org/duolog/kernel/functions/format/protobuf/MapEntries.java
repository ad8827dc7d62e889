package org.duolog.kernel.functions.format.protobuf;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;

/** The entries of a map while they are read: of several with one key, the last counts. */
final class MapEntries {
  static final Items EMPTY = Items.NONE;

  /** Marks an entry that does not count. */
  static final Object DROPPED = new Object();

  private MapEntries() {}

  /** An entry; its value may be null. */
  private record Entry(Object key, Object value) {}

  static Object entry(Object[] slots) {
    if (slots[0] == null) {
      throw new SerializationException("an entry of a map in the Protobuf message has no key");
    }
    return new Entry(slots[0], slots[1]);
  }

  static MapData map(Items items, DataType keyType) {
    boolean areBytes = keyType instanceof BinaryType;
    Map<Object, Object> found = new LinkedHashMap<>();
    for (int i = 0; i < items.size(); i++) {
      Entry entry = (Entry) items.get(i);
      found.put(areBytes ? ByteBuffer.wrap((byte[]) entry.key) : entry.key, entry.value);
    }
    Object[] keys = found.keySet().toArray();
    if (areBytes) {
      for (int i = 0; i < keys.length; i++) {
        keys[i] = ((ByteBuffer) keys[i]).array();
      }
    }
    Object[] values = found.values().toArray();
    return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
  }
}
