package org.duolog.kernel.store;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.task.NodeContext;

/**
 * The number of the latest left row of each key, as known at the task that receives responses.
 *
 * <pre>  key  ->  number          of rows that exist
 * </pre>
 *
 * <p>Rows are announced in the order of their numbers, as all rows that this task joins come from
 * one task. A response may arrive before the announcement of its row, or after that of a newer row:
 * then it is stale. A key that is not stored was deleted if its number has been announced;
 * otherwise its announcement is still to come. So deleted rows need no entry. Threads: one at a
 * time.
 */
public final class Newest implements Serializable {
  private static final long serialVersionUID = 1L;

  private final KeyValueStore store;
  private transient NodeContext scope;
  private transient Map<Long, Long> announced;

  public Newest(KeyValueStore store) {
    this.store = store;
  }

  /** Returns a row for one number. */
  public static UnsafeRow row() {
    int size = UnsafeRow.calculateBitSetWidthInBytes(1) + Long.BYTES;
    return UnsafeRow.createFromByteArray(size, 1);
  }

  public KeyValueStore store() {
    return store;
  }

  public void open(NodeContext scope) {
    this.scope = scope;
    announced = new HashMap<>();
  }

  /** Announces the number of the latest row of a key, and whether it can be joined. */
  public void announce(UnsafeRow key, long number, boolean there) {
    announced.put(scope.taskGrouping(), number);
    KeyValueStore.Entry known = store.lookup(key);
    if (known.row == null || known.row.getLong(0) <= number) {
      if (there) {
        put(known, number);
      } else if (known.row != null) {
        store.delete(known);
      }
    }
  }

  /**
   * Returns true if the response to the row of this number is current; {@code gone} if the response
   * is that there is no row.
   */
  public boolean accepts(UnsafeRow key, long number, boolean gone) {
    KeyValueStore.Entry known = store.lookup(key);
    long last = announced.getOrDefault(scope.taskGrouping(), 0L);
    boolean stale =
        known.row == null ? !gone && number <= last : number < known.row.getLong(0);
    if (!stale && number > last) {
      put(known, number);
    }
    return !stale;
  }

  private void put(KeyValueStore.Entry entry, long number) {
    UnsafeRow row = row();
    row.setLong(0, number);
    store.put(entry, row, 0);
  }
}
