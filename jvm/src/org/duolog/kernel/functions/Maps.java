package org.duolog.kernel.functions;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Creates maps of one type from keys and values that Spark's SQL would refuse; called from code
 * that Spark generates. Threads: not shared.
 */
public final class Maps implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final String NULL_KEY = "null";

  private final MapType type;

  Maps(MapType type) {
    this.type = type;
  }

  /**
   * Pairs keys and values by index, up to the shorter length; the last value of a key counts.
   *
   * <p>A null text becomes the key "null", as in JSON; other null keys are dropped.
   */
  public MapData of(ArrayData keys, ArrayData values) {
    Object[] keyed = keys.toObjectArray(type.keyType());
    Object[] valued = values.toObjectArray(type.valueType());
    boolean texts = type.keyType().equals(DataTypes.StringType);
    Object nullKey = texts ? UTF8String.fromString(NULL_KEY) : null;
    Map<Object, Object> found = new LinkedHashMap<>();
    for (int i = 0; i < Math.min(keyed.length, valued.length); i++) {
      found.put(keyed[i] == null ? nullKey : keyed[i], valued[i]);
    }
    found.remove(null);
    return data(found);
  }

  /** Pairs keys and values by index; fails if a key is null or duplicated. */
  public MapData distinct(ArrayData keys, ArrayData values) {
    Object[] keyed = keys.toObjectArray(type.keyType());
    Object[] valued = values.toObjectArray(type.valueType());
    Map<Object, Object> found = new LinkedHashMap<>();
    for (int i = 0; i < keyed.length; i++) {
      if (keyed[i] == null || valued[i] == null || found.put(keyed[i], valued[i]) != null) {
        throw new IllegalArgumentException("a key is duplicated, or a key or value is null");
      }
    }
    return data(found);
  }

  private static MapData data(Map<Object, Object> entries) {
    return new ArrayBasedMapData(
        new GenericArrayData(entries.keySet().toArray()),
        new GenericArrayData(entries.values().toArray()));
  }
}
