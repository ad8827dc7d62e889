package org.duolog.kernel.store.window;

import java.io.Serializable;
import java.util.function.BooleanSupplier;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.task.NodeContext;

/**
 * Lets the rows of a store go when their time has come, in the order of {@link WindowRows}: first the row, unless
 * it stays for who looks it up, then the word of it to who hands it on.
 *
 * <p>With one record so many rows leave at most. In a micro-batch the others leave later, before its next
 * record, so that what leaves is not held in memory; in real time the next records go on, so that a million
 * rows hold none of them up. Threads: one at a time.
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

  /** Hands on a row that has left. */
  public interface Leaving {
    void left(UnsafeRow key, UnsafeRow row, long ts);
  }

  /** @param early whether one more row leaves before its time */
  public void open(NodeContext scope, BooleanSupplier early, Leaving leaving) {
    this.scope = scope;
    this.early = early;
    this.leaving = leaving;
    more = false;
  }

  /** Keeps a row until its time comes. */
  public void keep(KeyValueStore.Entry entry, UnsafeRow row, long ts) {
    boolean isNew = entry.row == null;
    store.put(entry, row.copy(), ts);
    if (isNew) {
      rows.made(entry.key);
    }
  }

  /** A record was seen: lets go of what is due by now. */
  public void look() {
    boolean isLeftForLater = more;
    more = true;
    goOn();
    if (more && !isLeftForLater && !scope.realTime) {
      scope.later(this::goOn);
    }
  }

  /** It is this time by the wall clock: as {@link #look}, if no record has come for long. */
  public void tick(long nowMs, long begunMs) {
    if (rows.streamTime() != WindowTask.NO_TIME) {
      rows.tick(nowMs, begunMs);
      look();
      rows.wantTick(nowMs, more && scope.realTime);
    }
  }

  /** Whether more is due than has left. */
  public boolean goesOn() {
    return more;
  }

  /** Lets go of more; returns whether there was something to do. */
  private boolean goOn() {
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
    rows.polled();
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
      rows.left(entry.key);
    }
    leaving.left(entry.key, row, entry.ts);
  }
}
