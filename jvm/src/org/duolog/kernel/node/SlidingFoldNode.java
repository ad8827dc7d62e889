package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.SlidingWindows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.window.WindowIndex;
import org.duolog.kernel.task.NodeContext;

/**
 * Aggregates by key and sliding window: for each record of a key the window that ends with it, and
 * the one that starts right after it if that is not empty.
 *
 * <pre>
 *   difference 10, records at 20 and 25
 *   [10 ──── 20]                 ends with the first
 *        [15 ──── 25]            ends with the second, and contains both
 *              [21 ──── 31]      starts after the first
 * </pre>
 *
 * <p>A record is added to the windows that contain it, the latest first; then new windows are
 * created, with the records of existing ones. Windows that would start before 1970 are one window
 * that starts there. A record is late if a window has closed, and counted. If a record cannot be
 * added to one window, it changes none. Source: Kafka Streams KStreamSlidingWindowAggregate.
 */
final class SlidingFoldNode extends WindowedFoldNode {
  private static final long serialVersionUID = 1L;

  private final SlidingWindows windows;
  private final Program indexKey;
  private transient List<Updated> updates;

  /** @param indexKey computes the key of the index from key and bounds */
  SlidingFoldNode(Parts parts, SlidingWindows windows, Program indexKey) {
    super(parts);
    this.windows = windows;
    this.indexKey = own(indexKey);
  }

  /** The new state of a window. */
  private record Updated(
      KeyValueStore.Entry entry, long start, UnsafeRow acc, long ts, boolean isNew) {}

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    updates = new ArrayList<>();
  }

  @Override
  void fold(Change change) {
    if (rows.isClosed(windows.end(change.ts))) {
      scope.late(this);
      return;
    }
    updates.clear();
    if (change.ts < windows.differenceMs()) {
      findEarly(change);
    } else {
      find(change);
    }
    updates.forEach(updated -> keep(updated, change));
  }

  /** Collects the changed windows if all windows of a record start in 1970 or later. */
  private void find(Change change) {
    long ts = change.ts;
    TreeSet<Long> starts = starts(change, ts - 2 * windows.differenceMs());
    KeyValueStore.Entry left = null;
    KeyValueStore.Entry right = null;
    long previous = -1;
    boolean endsHere = false;
    for (long start : starts.headSet(ts, true).descendingSet()) {
      KeyValueStore.Entry window = entry(change, start);
      long end = windows.end(start);
      if (end < ts) {
        left = window;
        previous = window.ts;
        break;
      }
      add(change, window, start, window.row, window.ts);
      if (end > ts) {
        right = right == null ? window : right;
      } else if (window.ts < ts) {
        endsHere = true;
        previous = window.ts;
      } else {
        return; // A record with this timestamp has already created all windows.
      }
    }
    if (previous >= 0 && windows.end(previous + 1) >= ts) {
      addBehind(change, previous, starts);
    }
    if (!endsHere) {
      boolean holdsOthers = previous >= ts - windows.differenceMs();
      long start = ts - windows.differenceMs();
      add(change, entry(change, start), start, holdsOthers ? left.row : null, ts);
    }
    copyBehind(change, right, starts);
  }

  /** Collects the changed windows if a window that ends with the record would start before 1970. */
  private void findEarly(Change change) {
    long ts = change.ts;
    TreeSet<Long> starts = starts(change, 0);
    KeyValueStore.Entry first = entry(change, 0);
    KeyValueStore.Entry right = null;
    for (long start : starts.subSet(0L, false, ts, true)) {
      right = entry(change, start);
      add(change, right, start, right.row, right.ts);
    }
    if (right == null && first.row != null) {
      right = first;
    }
    copyBehind(change, right, starts);
    if (first.row != null && first.ts < ts) {
      addBehind(change, first.ts, starts);
    }
    add(change, first, 0, first.row, first.row == null ? ts : first.ts);
  }

  /** Returns the starts of the key's windows, from here up to the one right after the record. */
  private TreeSet<Long> starts(Change change, long from) {
    TreeSet<Long> found = new TreeSet<>();
    long first = Math.max(0, from);
    long last = Math.max(change.ts, change.ts + 1);
    for (long at = first / windows.spanMs(); at <= last / windows.spanMs(); at++) {
      WindowIndex.Entry known = index(change, at * windows.spanMs());
      if (known.forgetOver(rows)) {
        rows.index().changed(known);
      }
      known.windows.forEach(window -> found.add(window.start()));
    }
    return new TreeSet<>(found.subSet(first, true, last, true));
  }

  /** Adds the record to a window that may exist; if the window has closed, the record is late. */
  private void add(
      Change change, KeyValueStore.Entry entry, long start, UnsafeRow acc, long ts) {
    if (rows.isClosed(windows.end(start))) {
      scope.late(this);
      return;
    }
    updates.add(updated(entry, start, added(acc, change), Math.max(ts, change.ts)));
  }

  /** Creates the window that starts after the previous record, if it does not exist. */
  private void addBehind(Change change, long previous, TreeSet<Long> starts) {
    long start = previous + 1;
    if (!starts.contains(start)) {
      add(change, entry(change, start), start, null, change.ts);
    }
  }

  /**
   * Creates the window that starts after this record, with the later records, if it does not exist.
   */
  private void copyBehind(Change change, KeyValueStore.Entry right, TreeSet<Long> starts) {
    long start = change.ts + 1;
    if (right != null && right.ts > change.ts && !starts.contains(start)) {
      updates.add(updated(entry(change, start), start, right.row, right.ts));
    }
  }

  private Updated updated(KeyValueStore.Entry entry, long start, UnsafeRow acc, long ts) {
    // A copy, because the next accumulator reuses the memory.
    UnsafeRow kept = acc.copy();
    ensureResults(entry.key, kept, ts);
    return new Updated(entry, start, kept, ts, entry.row == null);
  }

  private void keep(Updated updated, Change change) {
    if (updated.isNew) {
      WindowIndex.Entry known = index(change, updated.start);
      known.windows.add(new WindowIndex.Bounds(updated.start, windows.end(updated.start)));
      rows.index().changed(known);
    }
    // Looked up again: the store may have evicted what it has read before.
    keep(store.lookup(updated.entry.key), updated.acc, updated.ts, change);
  }

  private KeyValueStore.Entry entry(Change change, long start) {
    return entry(change, start, windows.end(start));
  }

  private WindowIndex.Entry index(Change change, long start) {
    return rows.index().of(indexKey.apply(bounded(change, start, windows.end(start))));
  }
}
