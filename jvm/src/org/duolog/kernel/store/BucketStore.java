package org.duolog.kernel.store;

import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.StoredRow;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows by bucket and key. A whole bucket can be scanned, to find rows by time or by another table's
 * key instead of by their own key.
 *
 * <pre>
 *   (task, bucket), key bytes of an UnsafeRow  ->  {@link StoredRow}
 * </pre>
 *
 * <p>Spark keeps the entries of a map under the grouping key in a thread-local, and iterates over
 * them by a scan of that prefix. Here the key is {@link Grouping#bucket}, set around each access.
 * All accesses go to Spark's state directly, in both modes.
 *
 * <p>Threads: one at a time. Source: Kafka Streams SegmentedBytesStore.
 */
public final class BucketStore implements Store {
  private static final long serialVersionUID = 1L;

  private final String name;
  private final int keyColumns;
  private final int rowColumns;
  private final Grouping grouping;
  private transient MapState<byte[], byte[]> state;
  private transient long task;

  public BucketStore(String name, int keyColumns, int rowColumns, Grouping grouping) {
    this.name = name;
    this.keyColumns = keyColumns;
    this.rowColumns = rowColumns;
    this.grouping = grouping;
  }

  /** Receives the rows of a scan; it may keep them, and may change the store. */
  public interface Visitor {
    void visit(UnsafeRow key, UnsafeRow row, long ts);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
  }

  @Override
  public void open(NodeContext scope) {}

  @Override
  public void select(long task) {
    this.task = task;
  }

  @Override
  public void flush() {}

  /** Returns the row of a key in a bucket, or null. */
  UnsafeRow get(long bucket, UnsafeRow key) {
    byte[] bytes = bytes(bucket, key);
    return bytes == null ? null : StoredRow.row(bytes, rowColumns);
  }

  /** The same as a {@link StoredRow}. */
  public byte[] bytes(long bucket, UnsafeRow key) {
    return within(bucket, () -> state.getValue(key.getBytes()));
  }

  public void put(long bucket, UnsafeRow key, UnsafeRow row, long ts) {
    putBytes(bucket, key, StoredRow.encode(row, ts));
  }

  public void putBytes(long bucket, UnsafeRow key, byte[] row) {
    within(
        bucket,
        () -> {
          state.updateValue(key.getBytes(), row);
          return null;
        });
  }

  public void delete(long bucket, UnsafeRow key) {
    within(
        bucket,
        () -> {
          state.removeKey(key.getBytes());
          return null;
        });
  }

  /**
   * Visits the rows of a bucket as they are now, in a fixed but arbitrary order.
   *
   * <p>The scan always goes to the end, because Spark closes an unfinished scan only when the task
   * ends.
   */
  public void scan(long bucket, Visitor visitor) {
    Iterator<Tuple2<byte[], byte[]>> entries = within(bucket, state::iterator);
    while (entries.hasNext()) {
      visit(entries.next(), visitor);
    }
  }

  /**
   * The same in steps, for callers that do other work in between: each step visits a row, and
   * returns false if none was left. The scan starts with the first step. The bucket must not change
   * before the last one.
   */
  public BooleanSupplier steps(long bucket, Visitor visitor) {
    return new BooleanSupplier() {
      private Iterator<Tuple2<byte[], byte[]>> entries;

      @Override
      public boolean getAsBoolean() {
        if (entries == null) {
          entries = within(bucket, state::iterator);
        }
        boolean left = entries.hasNext();
        if (left) {
          visit(entries.next(), visitor);
        }
        return left;
      }
    };
  }

  private void visit(Tuple2<byte[], byte[]> entry, Visitor visitor) {
    visitor.visit(
        key(entry._1()), StoredRow.row(entry._2(), rowColumns), StoredRow.ts(entry._2()));
  }

  /**
   * Returns the keys of a bucket as they are now, to be read over several calls within one epoch.
   */
  public java.util.Iterator<UnsafeRow> keys(long bucket) {
    Iterator<byte[]> keys = within(bucket, state::keys);
    return CollectionConverters.asJava(keys.map(this::key));
  }

  private UnsafeRow key(byte[] bytes) {
    UnsafeRow key = new UnsafeRow(keyColumns);
    key.pointTo(bytes, bytes.length);
    return key;
  }

  private <T> T within(long bucket, Supplier<T> access) {
    ImplicitGroupingKeyTracker.setImplicitKey(grouping.bucket(task, bucket));
    try {
      return access.get();
    } finally {
      ImplicitGroupingKeyTracker.setImplicitKey(task);
    }
  }

  @Override
  public String toString() {
    return "store " + name;
  }
}
