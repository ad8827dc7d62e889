package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Windows;
import org.duolog.kernel.store.KeyValueStore;

/**
 * Aggregates by key and time window.
 *
 * <p>A record is added to each of its open windows, the earliest first. If a window has closed, the
 * record is late for it, and counted. If time jumps far ahead, results may be lost, to reproduce
 * ksqlDB. Source: Kafka Streams KStreamWindowAggregate.
 */
final class WindowFoldNode extends WindowedFoldNode {
  private static final long serialVersionUID = 1L;

  private final Windows windows;
  private final Long lostMs;

  /**
   * @param lostMs the result of a window is lost if it starts by more than this before the last
   *     one; null if none is lost
   */
  WindowFoldNode(Parts parts, Windows windows, Long lostMs) {
    super(parts);
    this.windows = windows;
    this.lostMs = lostMs;
  }

  @Override
  void fold(Change change) {
    long before = Long.MIN_VALUE;
    long start = windows.firstStart(change.ts);
    // A start that overflows, or does not change, was the last one.
    for (; before < start && start <= change.ts; start = windows.nextStart(start)) {
      before = start;
      long end = windows.end(start);
      if (rows.isClosed(end)) {
        scope.late(this);
      } else {
        KeyValueStore.Entry entry = entry(change, start, end);
        update(entry, added(entry.row, change), change);
      }
    }
  }

  @Override
  boolean isLost(UnsafeRow key) {
    return lostMs != null && rows.start(key) < windows.lastStart(rows.streamTime()) - lostMs;
  }
}
