package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.Windows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.window.DueRows;
import org.duolog.kernel.store.window.WindowRows;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Aggregates by key and time window: the key of its results ends with the window's start and end.
 *
 * <p>A record is added to each of its open windows, the earliest first. If a window has closed, the record is late for
 * it, and counted. Null keys and values are dropped. Results are emitted with each update, or once, after the record
 * that advances time. If time jumps far ahead, results may be lost, to reproduce ksqlDB. Source: Kafka Streams
 * KStreamWindowAggregate.
 */
final class WindowFoldNode extends AggregatingNode {
  private static final long serialVersionUID = 1L;

  private final WindowRows rows;
  private final Windows windows;
  private final Long lostMs;
  private final Program windowedKey;
  private final int keyColumns;
  private transient UnsafeRow bounds;
  private transient Operands keyOperands;

  /**
   * @param lostMs the result of a window is lost if it starts by more than this before the last one; null if none is
   *     lost
   * @param windowedKey computes a key with its window from key and bounds
   */
  WindowFoldNode(
      KeyValueStore store,
      Layout layout,
      Steps steps,
      DueRows due,
      WindowRows rows,
      Windows windows,
      Long lostMs,
      Program windowedKey) {
    super(store, layout, steps, due);
    this.rows = rows;
    this.windows = windows;
    this.lostMs = lostMs;
    this.windowedKey = own(windowedKey);
    this.keyColumns = layout.keyColumns();
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    rows.openKeys(partition);
    bounds = UnsafeRow.createFromByteArray(3 * Long.BYTES, 2);
    keyOperands = new Operands(keyColumns, 0, 2);
  }

  @Override
  public void close() {
    super.close();
    rows.closeKeys();
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (change.key == null || change.value == null) {
      scope.drop(this, change);
      return;
    }
    rows.observe(change.ts);
    long before = Long.MIN_VALUE;
    long start = windows.firstStart(change.ts);
    // A start that overflows, or does not change, was the last one.
    for (; before < start && start <= change.ts; start = windows.nextStart(start)) {
      before = start;
      long end = windows.end(start);
      if (rows.isClosed(end)) {
        scope.late(this);
      } else {
        add(change, start, end);
      }
    }
    emitClosed(change);
  }

  @Override
  boolean isLost(UnsafeRow key) {
    return lostMs != null && rows.start(key) < windows.lastStart(rows.streamTime()) - lostMs;
  }

  private void add(Change change, long start, long end) {
    bounds.setLong(0, start);
    bounds.setLong(1, end);
    UnsafeRow key = windowedKey.apply(keyOperands.of(change.key, null, bounds, change.ts));
    KeyValueStore.Entry entry = store.lookup(key);
    update(entry, added(entry.row, change), change);
  }
}
