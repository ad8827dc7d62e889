package org.duolog.kernel.store.window;

import java.io.Serializable;
import java.util.function.BooleanSupplier;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.task.NodeContext;

/**
 * Emits the rows of a store when they are due, in the order of {@link WindowRows}. A row is deleted
 * first, unless it stays for look-ups, and then forwarded.
 *
 * <p>A task can have pending work without a new record. It continues with this work before it takes
 * the next record, and before it writes the store.
 *
 * <p>A limited number of rows leaves with one record. In a micro-batch the rest follows before the
 * next record, so that outputs need not be held in memory. In real time the next records continue
 * with it, so that a million rows delay none of them. Threads: one at a time.
 */
public final class DueRows implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int AT_ONCE = 1_000;

  private final KeyValueStore store;
  private final WindowRows rows;
  private transient NodeContext scope;
  private transient Leaving leaving;
  private transient BooleanSupplier early;
  private transient boolean more;

  public DueRows(KeyValueStore store, WindowRows rows) {
    this.store = store;
    this.rows = rows;
  }

  /** Forwards an emitted row. */
  public interface Leaving {
    void emitted(UnsafeRow key, UnsafeRow row, long ts);
  }

  /** @param early returns true if one more row must leave before it is due */
  public void open(NodeContext scope, BooleanSupplier early, Leaving leaving) {
    this.scope = scope;
    this.early = early;
    this.leaving = leaving;
    more = false;
  }

  /** Stores a row until it is due. */
  public void keep(KeyValueStore.Entry entry, UnsafeRow row, long ts) {
    boolean isNew = entry.row == null;
    store.put(entry, row.copy(), ts);
    if (isNew) {
      rows.addDue(entry.key);
    }
  }

  /** Emits the rows that are due after a record. */
  public void emitDue() {
    boolean isLeftForLater = more;
    more = true;
    emitMore();
    if (more && !isLeftForLater && !scope.realTime) {
      scope.later(this::emitMore);
    }
  }

  /**
   * Processes a tick of the wall clock: as {@link #emitDue}, if there has been no record for long.
   */
  public void tick(long nowMs, long begunMs) {
    if (rows.streamTime() != WindowTask.NO_TIME) {
      rows.tick(nowMs, begunMs);
      emitDue();
      rows.wantTick(nowMs, more && scope.realTime);
    }
  }

  /** Returns true if more rows are due than have been emitted. */
  public boolean hasMore() {
    return more;
  }

  /** Emits more rows; returns false if there were none. */
  private boolean emitMore() {
    if (!more) {
      return false;
    }
    for (int left = AT_ONCE; more && left > 0; left--) {
      UnsafeRow key = rows.pollDue(early.getAsBoolean());
      more = key != null;
      if (more) {
        leave(key);
      }
    }
    rows.endPoll();
    return true;
  }

  private void leave(UnsafeRow key) {
    KeyValueStore.Entry entry = store.lookup(key);
    UnsafeRow row = entry.row;
    if (row == null) {
      return;
    }
    if (!rows.stay()) {
      store.delete(entry);
      rows.emitted(entry.key);
    }
    leaving.emitted(entry.key, row, entry.ts);
  }
}
