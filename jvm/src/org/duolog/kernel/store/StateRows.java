package org.duolog.kernel.store;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * Where a {@link KeyValueStore} has its rows in Spark's state: in one map, which may forget them
 * ({@link ExpiringRows}), or in buckets ({@code WindowRows}). Rows come and go as {@code StoredRow}s.
 *
 * <p>Threads: one at a time.
 */
public interface StateRows extends Serializable {
  void attach(MapState<byte[], byte[]> state);

  /**
   * @param cached whether what the micro-batch updates is in a record cache
   * @param write brings here what is not written yet
   */
  void open(boolean writeThrough, boolean cached, Runnable write);

  /** What follows belongs to this task. */
  void select(long grouping);

  /** The row of a key, or null. */
  byte[] get(UnsafeRow key);

  void put(UnsafeRow key, byte[] row);

  void remove(UnsafeRow key);

  /** Whether the row of a key has had its time, and is found no more. */
  boolean isOver(UnsafeRow key);

  /** A record of this time has come to who fills the store. */
  default void seen(long ts) {}

  /** Whether a row of this time is not there any more, wherever it still is. */
  default boolean hasGone(long ts) {
    return false;
  }

  /** The task's micro-batch ends; what is over now is neither found nor written from here on. */
  default void settle() {}

  /** Everything else was written. */
  void flush();

  /** One map for all keys of a task. */
  static StateRows inOneMap() {
    return new InOneMap();
  }

  /** Spark keeps the tasks apart. */
  final class InOneMap implements StateRows {
    private static final long serialVersionUID = 1L;

    private transient MapState<byte[], byte[]> state;

    private InOneMap() {}

    @Override
    public void attach(MapState<byte[], byte[]> state) {
      this.state = state;
    }

    @Override
    public void open(boolean writeThrough, boolean cached, Runnable write) {}

    @Override
    public void select(long grouping) {}

    @Override
    public byte[] get(UnsafeRow key) {
      return state.getValue(key.getBytes());
    }

    @Override
    public void put(UnsafeRow key, byte[] row) {
      state.updateValue(key.getBytes(), row);
    }

    @Override
    public void remove(UnsafeRow key) {
      state.removeKey(key.getBytes());
    }

    @Override
    public boolean isOver(UnsafeRow key) {
      return false;
    }

    @Override
    public void flush() {}
  }
}
