package org.duolog.kernel.node;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.StoreFullException;
import org.duolog.kernel.record.SuppressedChange;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.ValueGetter;
import org.duolog.kernel.store.window.DueRows;
import org.duolog.kernel.store.window.WindowIndex;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.task.Store;

/**
 * Holds changes of a table back: until a window closes, or for a time since the first one of a key.
 *
 * <pre>
 *   changes of a key   a ► b     b ► c     c ► d          for 10 minutes, from the first one on
 *   handed on                                   a ► d
 * </pre>
 *
 * <p>Of each key the last change waits, in the place of the first one, with the row that was told last. What
 * leaves first is what waits for longest, then the least key. Until a window closes nobody has heard of
 * its row, so that a deletion is not told. Beyond its limits rows leave early, or the query ends.
 *
 * <p>Source: Kafka Streams KTableSuppressProcessor; it hands on the row before the last change as the old one,
 * which nobody was told, and keeps no stream time over a restart.
 */
final class SuppressNode extends Node {
  private static final long serialVersionUID = 1L;

  private final KeyValueStore store;
  private final WindowRows rows;
  private final DueRows due;
  private final Timed timed;
  private final Limits limits;
  private final int valueColumns;
  private transient SuppressedChange held;

  /**
   * How much may wait in a task; null where there is no bound.
   *
   * @param shutDown whether the query ends beyond, rather than letting go early
   */
  record Limits(Long maxRecords, Long maxBytes, boolean shutDown) implements Serializable {
    private static final long serialVersionUID = 1L;

    boolean areExceeded(long records, long bytes) {
      return (maxRecords != null && records > maxRecords)
          || (maxBytes != null && bytes > maxBytes);
    }

    @Override
    public String toString() {
      String text = maxRecords == null ? "" : maxRecords + " records";
      String both = maxRecords != null && maxBytes != null ? " and " : "";
      return text + both + (maxBytes == null ? "" : maxBytes + " bytes");
    }
  }

  /** @param timed finds rows that wait for a time; null where the time is the end of their window */
  SuppressNode(
      KeyValueStore store, WindowRows rows, Timed timed, Limits limits, int valueColumns) {
    this.store = store;
    this.rows = rows;
    this.due = new DueRows(store, rows);
    this.timed = timed;
    this.limits = limits;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    rows.openKeys(partition);
    if (timed != null) {
      timed.open(partition);
    }
    held = new SuppressedChange(valueColumns);
    due.open(scope, () -> !limits.shutDown && isFull(), this::left);
  }

  @Override
  public void close() {
    super.close();
    rows.closeKeys();
    if (timed != null) {
      timed.close();
    }
  }

  /** It must know what was told last. */
  @Override
  public boolean needsOld() {
    return true;
  }

  @Override
  public Store store() {
    return store;
  }

  @Override
  public void process(Change change) {
    if (change.key == null) {
      return;
    }
    rows.observe(change.ts);
    UnsafeRow key = timed == null ? change.key : timed.key(change.key, change.ts);
    KeyValueStore.Entry entry = store.lookup(key);
    count(entry.key, entry.row, -1);
    due.keep(entry, held.of(change, entry.row, scope.origin), change.ts);
    count(entry.key, entry.row, 1);
    due.look();
    if (limits.shutDown && !due.goesOn() && isFull()) {
      throw new StoreFullException(
          String.format(
              "cannot hold back more at %s: %d records of %d bytes wait in one task, and %s may",
              name(), rows.held(), rows.heldBytes(), limits));
    }
  }

  private void left(UnsafeRow key, UnsafeRow row, long ts) {
    count(key, row, -1);
    UnsafeRow value = held.value(row);
    if (value == null && timed == null) {
      return;
    }
    byte[] current = scope.origin;
    scope.origin = SuppressedChange.origin(row);
    forward(
        out.set(
            rows.found(key),
            value,
            held.prior(row),
            ts,
            SuppressedChange.priorTs(row),
            SuppressedChange.headers(row)));
    scope.origin = current;
  }

  private boolean isFull() {
    return limits.areExceeded(rows.held(), rows.heldBytes());
  }

  /** Also without limits, as a later start may have some. */
  private void count(UnsafeRow key, UnsafeRow row, int sign) {
    if (row != null) {
      rows.count(sign, (long) sign * (key.getSizeInBytes() + row.getSizeInBytes()));
    }
  }

  /** The table as those behind have been told of it. */
  static ValueGetter getter(
      ValueGetter table, KeyValueStore store, Timed timed, int valueColumns) {
    return new ValueGetter() {
      private static final long serialVersionUID = 1L;

      private transient SuppressedChange held;

      @Override
      public UnsafeRow get(UnsafeRow key) {
        UnsafeRow at = timed == null ? key : timed.known(key);
        UnsafeRow waiting = at == null ? null : store.lookup(at).row;
        if (waiting == null) {
          UnsafeRow row = table.get(key);
          ts = table.ts;
          return row;
        }
        ts = SuppressedChange.priorTs(waiting);
        return held.prior(waiting);
      }

      @Override
      public void open(int partition) {
        table.open(partition);
        held = new SuppressedChange(valueColumns);
        if (timed != null) {
          timed.open(partition);
        }
      }

      @Override
      public void close() {
        table.close();
        if (timed != null) {
          timed.close();
        }
      }
    };
  }

  /** The keys of rows that wait for a time: the record's, and when the first change came, twice. */
  static final class Timed implements Serializable {
    private static final long serialVersionUID = 1L;

    private final WindowRows rows;
    private final Program timedKey;
    private final int keyColumns;
    private transient Operands operands;
    private transient UnsafeRow bounds;

    /** @param timedKey computes a key with its time from key and bounds */
    Timed(WindowRows rows, Program timedKey, int keyColumns) {
      this.rows = rows;
      this.timedKey = timedKey;
      this.keyColumns = keyColumns;
    }

    private void open(int partition) {
      timedKey.open(partition);
      operands = new Operands(keyColumns, 0, 2);
      bounds = UnsafeRow.createFromByteArray(3 * Long.BYTES, 2);
    }

    private void close() {
      timedKey.close();
    }

    /** The key of what waits, which is from now on known. */
    private UnsafeRow key(UnsafeRow key, long ts) {
      WindowIndex.Entry known = rows.index().of(key);
      if (known.windows.isEmpty()) {
        known.windows.add(new WindowIndex.Bounds(ts, ts));
        rows.index().changed(known);
      }
      return timed(key, known);
    }

    /** The key of what waits, or null. */
    private UnsafeRow known(UnsafeRow key) {
      WindowIndex.Entry known = rows.index().of(key);
      return known.windows.isEmpty() ? null : timed(key, known);
    }

    private UnsafeRow timed(UnsafeRow key, WindowIndex.Entry known) {
      WindowIndex.Bounds since = known.windows.first();
      bounds.setLong(0, since.start());
      bounds.setLong(1, since.end());
      return timedKey.apply(operands.of(key, null, bounds, 0));
    }
  }
}
