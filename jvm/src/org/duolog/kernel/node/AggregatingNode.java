package org.duolog.kernel.node;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.window.DueRows;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.task.Store;

/**
 * Base class of aggregates: an accumulator for each key of a store, and the results computed from
 * it.
 *
 * <p>If a step or a result cannot be computed for a record, the accumulator stays unchanged. An
 * accumulator is kept when its group is empty. Its timestamp is the largest of its records. The
 * {@link KeyValueStore} decides what is forwarded, and when; or {@link DueRows} does: then there is
 * one result when the window has closed, and no old value.
 *
 * <p>A replicated aggregate sees only forwarded updates, so it has no record cache.
 */
abstract class AggregatingNode extends Node {
  private static final long serialVersionUID = 1L;

  protected final KeyValueStore store;
  private final DueRows due;
  private final Layout layout;
  private final Program init;
  private final Program add;
  private final Program results;
  private final Program oldResults;

  /** Reads a record and the accumulator. */
  protected transient Operands operands;

  private transient Operands kept;
  private transient boolean withOld;
  private transient boolean resultsMayFail;
  private transient byte[] headers;

  /** The numbers of columns in a record, in the store's keys and in an accumulator. */
  record Layout(int keyColumns, int valueColumns, int storeKeyColumns, int accColumns)
      implements Serializable {
    /** Returns the layout of an aggregate whose keys include the bounds of windows. */
    static Layout windowed(Operator of, List<String> accTypes) {
      int keys = of.keyTypes().size();
      int storeKeys = Closing.keyTypes(of).size();
      return new Layout(keys, of.valueTypes().size(), storeKeys, accTypes.size());
    }
  }

  /** Initializer, adder and results. */
  record Steps(Program init, Program add, Program results) {}

  AggregatingNode(KeyValueStore store, Layout layout, Steps steps) {
    this(store, layout, steps, null);
  }

  /**
   * @param due emits results when their windows close; null if they are emitted with each update
   */
  AggregatingNode(KeyValueStore store, Layout layout, Steps steps, DueRows due) {
    this.store = store;
    this.due = due;
    this.layout = layout;
    this.init = own(steps.init);
    this.add = own(steps.add);
    this.results = own(steps.results);
    this.oldResults = own(steps.results.twin());
  }

  @Override
  public ErrorHandlers.Stage stage() {
    return ErrorHandlers.Stage.AGGREGATION;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands =
        new Operands(layout.keyColumns, layout.valueColumns, layout.accColumns, scope);
    kept = new Operands(layout.storeKeyColumns, layout.valueColumns, layout.accColumns);
    withOld = childNeedsOld();
    resultsMayFail = results.mayFail();
    boolean isRead = children().length > 0; // False if it is only looked up.
    store.setListener(isRead ? this::updated : (entry, old, oldTs, headers) -> {});
    if (due != null) {
      due.open(scope, () -> false, isRead ? this::closed : (key, acc, ts) -> {});
    }
  }

  @Override
  public Store store() {
    return store;
  }

  protected final UnsafeRow initial(Change change) {
    return init.apply(operands.of(change.key, change.value, null, change.ts));
  }

  /** Returns the accumulator after a record; {@code acc} is null if there is none before it. */
  protected final UnsafeRow added(UnsafeRow acc, Change change) {
    UnsafeRow current = acc == null ? initial(change) : acc;
    return add.apply(operands.of(change.key, change.value, current, change.ts));
  }

  /** Stores the result of a change, and forwards the results now or later. */
  protected final void update(KeyValueStore.Entry entry, UnsafeRow acc, Change change) {
    long ts = entry.row == null ? change.ts : Math.max(entry.ts, change.ts);
    ensureResults(entry.key, acc, ts);
    willKeep();
    keep(entry, acc, ts, change);
  }

  /**
   * Stores an accumulator, or deletes it if {@code acc} is null; its results are forwarded now or
   * later.
   */
  protected final void keep(
      KeyValueStore.Entry entry, UnsafeRow acc, long ts, Change change) {
    if (due == null) {
      store.update(entry, acc, ts, change.headers);
    } else if (acc == null) {
      store.delete(entry);
    } else {
      due.keep(entry, acc, ts);
    }
  }

  /** Forwards the results of windows that have closed, after a record is done. */
  protected final void emitClosed(Change change) {
    if (due != null) {
      headers = change.headers;
      due.emitDue();
    }
  }

  /**
   * Processes a tick: forwards the results of windows that have ended, if there are no records.
   *
   * @param begunMs records that arrived before this time are still to be read
   */
  final void tick(long nowMs, long begunMs) {
    headers = null;
    due.tick(nowMs, begunMs);
  }

  /** Called when no step can fail any more, to apply pending changes of pages. */
  void willKeep() {}

  /** Fails before anything is written if the results of an accumulator cannot be computed. */
  protected final void ensureResults(UnsafeRow key, UnsafeRow acc, long ts) {
    if (resultsMayFail) {
      results.apply(kept.of(key, null, acc, ts));
    }
  }

  /** Returns true if the result of a closed window is dropped. */
  boolean isLost(UnsafeRow key) {
    return false;
  }

  private void closed(UnsafeRow key, UnsafeRow acc, long ts) {
    if (isLost(key)) {
      return;
    }
    UnsafeRow value = results.apply(kept.of(key, null, acc, ts));
    forward(out.set(key, value, null, ts, 0, headers));
  }

  private void updated(
      KeyValueStore.Entry entry, UnsafeRow oldAcc, long oldTs, byte[] headers) {
    UnsafeRow old =
        withOld && oldAcc != null
            ? oldResults.applyToOld(kept.of(entry.key, null, oldAcc, oldTs))
            : null;
    UnsafeRow value =
        entry.row == null ? null : results.apply(kept.of(entry.key, null, entry.row, entry.ts));
    forward(out.set(entry.key, value, old, entry.ts, oldTs, headers));
  }
}
