package org.duolog.kernel.functions;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;

/**
 * Functions of arrays as sets, in the order of first positions; nulls are equal. For elements that
 * Spark cannot hash: it compares each with each other, which takes a time by the square of their
 * number, and it does not compare maps. Elements are equal if their {@link OrderedBytes} are.
 *
 * <p>Called from code that Spark generates. Threads: any.
 */
public final class ArraySets implements Serializable {
  private static final long serialVersionUID = 1L;

  private final DataType of;
  private final OrderedBytes elements;

  ArraySets(ArrayType type) {
    of = type.elementType();
    elements = new OrderedBytes(of);
  }

  public ArrayData distinct(ArrayData array) {
    List<Object> found = new ArrayList<>();
    addNew(found, array, new HashSet<>());
    return new GenericArrayData(found.toArray());
  }

  public ArrayData union(ArrayData left, ArrayData right) {
    List<Object> found = new ArrayList<>();
    Set<ByteBuffer> seen = new HashSet<>();
    addNew(found, left, seen);
    addNew(found, right, seen);
    return new GenericArrayData(found.toArray());
  }

  public ArrayData except(ArrayData left, ArrayData right) {
    List<Object> found = new ArrayList<>();
    Set<ByteBuffer> seen = keys(right);
    addNew(found, left, seen);
    return new GenericArrayData(found.toArray());
  }

  public ArrayData intersect(ArrayData left, ArrayData right) {
    List<Object> found = new ArrayList<>();
    Set<ByteBuffer> wanted = keys(right);
    for (int i = 0; i < left.numElements(); i++) {
      if (wanted.remove(key(left, i))) {
        found.add(element(left, i));
      }
    }
    return new GenericArrayData(found.toArray());
  }

  private void addNew(List<Object> found, ArrayData array, Set<ByteBuffer> seen) {
    for (int i = 0; i < array.numElements(); i++) {
      if (seen.add(key(array, i))) {
        found.add(element(array, i));
      }
    }
  }

  private Set<ByteBuffer> keys(ArrayData array) {
    Set<ByteBuffer> found = new HashSet<>();
    for (int i = 0; i < array.numElements(); i++) {
      found.add(key(array, i));
    }
    return found;
  }

  /** The bytes of an element; null if it is null. */
  private ByteBuffer key(ArrayData array, int at) {
    InternalRow row = new GenericInternalRow(new Object[] {element(array, at)});
    byte[] bytes = elements.encode(row);
    return bytes == null ? null : ByteBuffer.wrap(bytes);
  }

  private Object element(ArrayData array, int at) {
    return array.isNullAt(at) ? null : array.get(at, of);
  }
}
