package org.duolog.kernel.functions.format.protobuf;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;

/** The elements of a repeated field while it is read. Threads: not shared. */
final class Items {
  /** No elements, in any number of messages: it is never changed. */
  static final Items NONE = new Items(new Object[0]);

  private static final int SIZE_MIN = 8;

  private Object[] values;
  private int size;

  private Items(Object[] values) {
    this.values = values;
  }

  /** Returns items with one more, unless it is null. */
  static Items with(Items items, Object value) {
    if (value == null) {
      return items;
    }
    Items more = items == NONE ? new Items(new Object[SIZE_MIN]) : items;
    if (more.size == more.values.length) {
      more.values = Arrays.copyOf(more.values, 2 * more.size);
    }
    more.values[more.size++] = value;
    return more;
  }

  int size() {
    return size;
  }

  Object get(int index) {
    return values[index];
  }

  ArrayData array() {
    return new GenericArrayData(Arrays.copyOf(values, size));
  }
}
