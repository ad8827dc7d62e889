package org.duolog.kernel.store;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * Holds the rows of a {@link KeyValueStore} in Spark's state: in one map, which may expire them
 * ({@link ExpiringRows}), or in buckets ({@code WindowRows}). Rows are passed as
 * {@code StoredRow}s.
 *
 * <p>Threads: one at a time.
 */
public interface StateRows extends Serializable {
  void attach(MapState<byte[], byte[]> state);

  /**
   * @param cached true if updates of the micro-batch are in a record cache
   * @param write writes pending changes
   */
  void open(boolean writeThrough, boolean cached, Runnable write);

  /** Selects the task of the following accesses. */
  void select(long grouping);

  /** Returns the row of a key, or null. */
  byte[] get(UnsafeRow key);

  void put(UnsafeRow key, byte[] row);

  void remove(UnsafeRow key);

  /** Returns true if the row of a key has expired and is no longer found. */
  boolean isExpired(UnsafeRow key);

  /** Advances time to a record that has reached the node which writes the store. */
  default void advanceTime(long ts) {}

  /** Returns true if a row with this timestamp has expired, even if it is still stored. */
  default boolean isExpiredAt(long ts) {
    return false;
  }

  /**
   * Ends the task's micro-batch: rows that have expired now are neither found nor written any more.
   */
  default void settle() {}

  /** Writes what is left, after everything else was written. */
  void flush();

  /** Returns a single map for all keys of a task. */
  static StateRows inOneMap() {
    return new InOneMap();
  }

  /** Rows in one map; Spark separates the tasks. */
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
    public boolean isExpired(UnsafeRow key) {
      return false;
    }

    @Override
    public void flush() {}
  }
}
