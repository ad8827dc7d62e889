package org.duolog.kernel.functions;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * The steps of aggregates that keep values of one type in a {@link Multiset}. Nulls are ignored.
 *
 * <p>Called from code that Spark generates, with a value as the only column of a row.
 */
public final class ValueSets implements Serializable {
  private static final long serialVersionUID = 1L;

  private final OrderedBytes values;

  public ValueSets(DataType type) {
    values = new OrderedBytes(type);
  }

  /** Adds a value; what does not fit into a row goes to pages of this slot, if there is one. */
  public byte[] add(byte[] root, InternalRow row, int slot) {
    byte[] value = values.encode(row);
    return value == null ? root : Multiset.of(root, slot).add(value).bytes();
  }

  /** Removes a value; returns the same root if it is not there. */
  public byte[] subtract(byte[] root, InternalRow row) {
    byte[] value = values.encode(row);
    return value == null || root == null ? root : Multiset.of(root).subtract(value).bytes();
  }

  /** Adds a value, unless it is new and there are {@code limit} distinct values. */
  public byte[] addWithin(byte[] root, InternalRow row, int limit) {
    byte[] value = values.encode(row);
    if (value == null) {
      return root;
    }
    Multiset kept = Multiset.of(root);
    boolean isFull = kept.distinct() >= limit && !kept.contains(value);
    return isFull ? root : kept.add(value).bytes();
  }

  /** Adds a value, and keeps the {@code k} greatest. */
  public byte[] addTop(byte[] root, InternalRow row, int k, boolean distinct) {
    byte[] value = values.encode(row);
    if (value == null) {
      return root;
    }
    Multiset kept = Multiset.of(root);
    boolean isFull = (distinct ? kept.distinct() : kept.total()) >= k;
    if ((isFull && kept.isNotBelow(value)) || (distinct && kept.contains(value))) {
      return root;
    }
    return kept.add(value).trim(k, distinct).bytes();
  }

  /** Merges two multisets, without new values of the second one beyond {@code limit}. */
  public static byte[] merge(byte[] root, byte[] other, int limit) {
    if (other == null) {
      return root;
    }
    return root == null ? other : Multiset.of(root).addAll(Multiset.of(other), limit).bytes();
  }

  /** Returns the {@code k} greatest values of two multisets. */
  public static byte[] mergeTop(byte[] root, byte[] other, int k, boolean distinct) {
    byte[] both = merge(root, other, Integer.MAX_VALUE);
    return both == null ? null : Multiset.of(both).trim(k, distinct).bytes();
  }

  /** Returns the number of distinct values. */
  public static long distinct(byte[] root) {
    return Multiset.of(root).distinct();
  }

  /** Returns the first {@code k} values in ascending or descending order. */
  public ArrayData first(byte[] root, int k, boolean greatestFirst, boolean distinct) {
    List<Object> found = new ArrayList<>();
    Multiset.of(root)
        .visit(
            greatestFirst,
            (value, count) -> {
              Object decoded = values.decode(value);
              for (long i = distinct ? 1 : count; i > 0 && found.size() < k; i--) {
                found.add(decoded);
              }
              return found.size() < k;
            });
    return new GenericArrayData(found.toArray());
  }

  /** Returns the counts of the {@code limit} least values. */
  public MapData counts(byte[] root, int limit) {
    List<Object> found = new ArrayList<>();
    List<Object> counts = new ArrayList<>();
    Multiset.of(root)
        .visit(
            false,
            (value, count) -> {
              found.add(values.decode(value));
              counts.add(count);
              return found.size() < limit;
            });
    return map(found, counts);
  }

  /**
   * For values that are pairs: returns the greatest value of each of the {@code limit} least keys.
   */
  public MapData pairs(byte[] root, int limit) {
    StructType type = (StructType) values.type();
    List<Object> keys = new ArrayList<>();
    List<Object> found = new ArrayList<>();
    Multiset.of(root)
        .visit(
            false,
            (value, count) -> {
              InternalRow pair = (InternalRow) values.decode(value);
              Object key = pair.get(0, type.apply(0).dataType());
              Object of = pair.get(1, type.apply(1).dataType());
              int last = keys.size() - 1;
              if (last >= 0 && key.equals(keys.get(last))) {
                found.set(last, of);
              } else if (keys.size() < limit) {
                keys.add(key);
                found.add(of);
              } else {
                return false;
              }
              return true;
            });
    return map(keys, found);
  }

  private static MapData map(List<Object> keys, List<Object> values) {
    return new ArrayBasedMapData(
        new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
  }
}
