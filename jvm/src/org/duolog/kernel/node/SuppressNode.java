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
 * Suppresses changes of a table: until a window closes, or for a time after the first change of a
 * key.
 *
 * <pre>
 *   changes of a key   a ► b     b ► c     c ► d          for 10 minutes after the first one
 *   forwarded                                   a ► d
 * </pre>
 *
 * <p>For each key the last change waits, at the position of the first one, with the row that was
 * emitted last. The change that has waited longest leaves first, then the least key. Until a window
 * closes its row has not been emitted, so a deletion is not forwarded. Beyond its limits rows leave
 * early, or the query fails.
 *
 * <p>Source: Kafka Streams KTableSuppressProcessor, which differs in two ways: as old value it
 * forwards the row before the last change, which was never emitted, and it does not keep stream
 * time over a restart.
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
   * Limits of the waiting changes of a task; null for no limit.
   *
   * @param shutDown true if the query fails beyond the limits, instead of emitting early
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

  /** @param timed finds rows that wait for a time; null if they wait for the end of their window */
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

  /** It needs the row that was emitted last. */
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
    due.emitDue();
    if (limits.shutDown && !due.hasMore() && isFull()) {
      throw new StoreFullException(
          String.format(
              "cannot buffer more at %s: %d records of %d bytes wait in one task, and %s may",
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

  /** Counts even without limits, as a later start may have some. */
  private void count(UnsafeRow key, UnsafeRow row, int sign) {
    if (row != null) {
      rows.count(sign, (long) sign * (key.getSizeInBytes() + row.getSizeInBytes()));
    }
  }

  /** Returns the table as downstream nodes have received it. */
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

  /**
   * The keys of rows that wait for a time: the record's key, and twice the time of the first
   * change.
   */
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

    /** Returns the key of a waiting row, and registers it. */
    private UnsafeRow key(UnsafeRow key, long ts) {
      WindowIndex.Entry known = rows.index().of(key);
      if (known.windows.isEmpty()) {
        known.windows.add(new WindowIndex.Bounds(ts, ts));
        rows.index().changed(known);
      }
      return timed(key, known);
    }

    /** Returns the key of a waiting row, or null. */
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
