package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.window.DueRows;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Base class of aggregates by key and window: the key of a result ends with the window's start and
 * end.
 *
 * <p>Null keys and values are dropped. Results are emitted with each update, or once when their
 * window has closed, after the record that advances time.
 */
abstract class WindowedFoldNode extends AggregatingNode {
  private static final long serialVersionUID = 1L;

  protected final WindowRows rows;
  protected final Layout layout;
  private final Program windowedKey;
  private transient UnsafeRow bounds;
  private transient Operands keyOperands;

  /**
   * The parts that all of them are built from.
   *
   * @param due emits results when their windows close; null if they are emitted with each update
   * @param windowedKey computes a key with its window from key and bounds
   */
  record Parts(
      KeyValueStore store,
      Layout layout,
      Steps steps,
      DueRows due,
      WindowRows rows,
      Program windowedKey) {}

  WindowedFoldNode(Parts parts) {
    super(parts.store, parts.layout, parts.steps, parts.due);
    this.rows = parts.rows;
    this.layout = parts.layout;
    this.windowedKey = own(parts.windowedKey);
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    rows.openKeys(partition);
    bounds = UnsafeRow.createFromByteArray(3 * Long.BYTES, 2);
    keyOperands = new Operands(layout.keyColumns(), 0, 2);
  }

  @Override
  public void close() {
    super.close();
    rows.closeKeys();
  }

  @Override
  public final boolean needsOld() {
    return false;
  }

  @Override
  public final void process(Change change) {
    if (change.key == null || change.value == null) {
      scope.drop(this, change);
      return;
    }
    rows.observe(change.ts);
    fold(change);
    emitClosed(change);
  }

  /** Adds a record to its windows. */
  abstract void fold(Change change);

  /** Returns the entry of a record's key and a window. */
  protected final KeyValueStore.Entry entry(Change change, long start, long end) {
    return store.lookup(windowedKey.apply(bounded(change, start, end)));
  }

  /**
   * Returns a record's key and the bounds of a window, for expressions; the next call reuses it.
   */
  protected final InternalRow bounded(Change change, long start, long end) {
    bounds.setLong(0, start);
    bounds.setLong(1, end);
    return keyOperands.of(change.key, null, bounds, change.ts);
  }
}
