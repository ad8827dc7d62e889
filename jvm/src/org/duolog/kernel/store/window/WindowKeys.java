package org.duolog.kernel.store.window;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Operands;

/**
 * Keys of windows: their last two columns are the window's start and end.
 *
 * <p>A windowed and an unwindowed key of the same columns have different bytes, so a record that
 * changes from one to the other crosses an edge. The columns before the window determine the task,
 * so that rows read from a topic meet rows that were aggregated here.
 *
 * <p>Threads: one at a time between open and close.
 */
final class WindowKeys implements Serializable {
  private static final long serialVersionUID = 1L;

  private final int columns;
  private final int endColumn;
  private final int bucketColumn;
  private final long intervalMs;
  private final Program indexKey;
  private final WindowRows.Order order;
  private transient Operands operands;

  /**
   * @param indexKey computes the key of the index from a key with its window; null if there is no
   *     index
   * @param order the order in which rows are emitted; null if there is none
   */
  WindowKeys(int columns, Closing closing, Program indexKey, WindowRows.Order order) {
    this.columns = columns;
    this.endColumn = columns - 1;
    this.bucketColumn = closing.bucketsByEnd() ? columns - 1 : columns - 2;
    this.intervalMs = closing.bucketMs();
    this.indexKey = indexKey;
    this.order = order;
  }

  void open(int partition) {
    operands = new Operands(columns, 0, 0);
    if (indexKey != null) {
      indexKey.open(partition);
    }
    if (order != null) {
      order.keyBytes().open(partition);
    }
  }

  void close() {
    if (indexKey != null) {
      indexKey.close();
    }
    if (order != null) {
      order.keyBytes().close();
    }
  }

  long start(UnsafeRow key) {
    return key.getLong(endColumn - 1);
  }

  long end(UnsafeRow key) {
    return key.getLong(endColumn);
  }

  /** Returns the bucket in which the row of a key is stored. */
  long bucket(UnsafeRow key) {
    return Math.floorDiv(key.getLong(bucketColumn), intervalMs);
  }

  boolean isIndexed() {
    return indexKey != null;
  }

  /** Returns the key by which the index has a row, or the row's key; valid until the next call. */
  UnsafeRow found(UnsafeRow key) {
    return indexKey == null ? key : indexKey.apply(operands.of(key, null, null, 0));
  }

  /** Returns the bytes by which rows with the same end are ordered. */
  byte[] orderBytes(UnsafeRow key) {
    return order.keyBytes().bytes(operands.of(key, null, null, 0));
  }
}
