package org.duolog.kernel.node;

import java.util.LinkedList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.Sessions;
import org.duolog.kernel.spec.Windows;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.window.WindowIndex;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Aggregates by key and session: a record merges the sessions that it touches.
 *
 * <pre>
 *   sessions      [1 ── 4]        [11]    gap 5
 *   record at 7   [1 ──────────── 11]     deletions of [1 4] and [11], then the merged session
 * </pre>
 *
 * <p>The timestamp of a result is the session's end. A record whose session would have closed is
 * late, and counted; closed sessions are not reopened. Source: Kafka Streams
 * KStreamSessionWindowAggregate.
 */
final class SessionFoldNode extends WindowedFoldNode {
  private static final long serialVersionUID = 1L;

  private final Sessions sessions;
  private final Program merge;
  private transient Operands mergeOperands;

  /** @param merge computes an accumulator from two */
  SessionFoldNode(Parts parts, Sessions sessions, Program merge) {
    super(parts);
    this.sessions = sessions;
    this.merge = own(merge);
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    mergeOperands =
        new Operands(layout.keyColumns(), layout.accColumns(), layout.accColumns());
  }

  @Override
  void fold(Change change) {
    WindowIndex index = rows.index();
    WindowIndex.Entry known = index.of(change.key);
    boolean changed = known.forgetOver(rows);
    List<WindowIndex.Bounds> touched = touched(known, change.ts);
    WindowIndex.Bounds joined = joined(touched, change.ts);
    if (rows.isClosed(joined.end())) {
      scope.late(this);
    } else {
      UnsafeRow acc = accumulated(touched, change);
      ensureResults(entry(change, joined).key, acc, joined.end());
      if (joined.start() < change.ts || joined.end() > change.ts) {
        touched.forEach(
            session -> keep(entry(change, session), null, session.end(), change));
      }
      // Looked up again: the store may have evicted what it has read before.
      keep(entry(change, joined), acc, joined.end(), change);
      touched.forEach(known.windows::remove);
      known.windows.add(joined);
      changed = true;
    }
    if (changed) {
      index.changed(known);
    }
  }

  /**
   * Returns the sessions that a record merges, in the order of time; only its neighbours are
   * examined.
   */
  private List<WindowIndex.Bounds> touched(WindowIndex.Entry known, long ts) {
    LinkedList<WindowIndex.Bounds> found = new LinkedList<>();
    long latest = Windows.end(ts, sessions.gapMs());
    WindowIndex.Bounds behind = new WindowIndex.Bounds(latest, Long.MAX_VALUE);
    for (WindowIndex.Bounds session : known.windows.headSet(behind, true).descendingSet()) {
      if (session.end() < ts - sessions.gapMs()) {
        break;
      }
      found.addFirst(session);
    }
    return found;
  }

  private static WindowIndex.Bounds joined(List<WindowIndex.Bounds> touched, long ts) {
    long start = ts;
    long end = ts;
    for (WindowIndex.Bounds session : touched) {
      start = Math.min(start, session.start());
      end = Math.max(end, session.end());
    }
    return new WindowIndex.Bounds(start, end);
  }

  /** Merges the accumulators of the touched sessions, and adds the record. */
  private UnsafeRow accumulated(List<WindowIndex.Bounds> touched, Change change) {
    UnsafeRow acc = initial(change);
    for (WindowIndex.Bounds session : touched) {
      UnsafeRow other = entry(change, session).row;
      // A copy, because the next result reuses the memory.
      acc = merge.apply(mergeOperands.of(change.key, acc, other, change.ts)).copy();
    }
    return added(acc, change);
  }

  private KeyValueStore.Entry entry(Change change, WindowIndex.Bounds session) {
    return entry(change, session.start(), session.end());
  }
}
