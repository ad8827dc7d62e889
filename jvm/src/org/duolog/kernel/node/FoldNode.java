package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.functions.Pages;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.KeyValueStore;
import org.duolog.kernel.store.PagedRows;

/**
 * Aggregates by key: keeps an accumulator, and forwards the table of its results.
 *
 * <pre>
 *   stream   value        -> add           (null key or value: dropped)
 *   table    old -> subtract, then new -> add, as one update
 * </pre>
 *
 * <p>Versions that are not the latest of their key are ignored. Source: Kafka Streams
 * KStreamAggregate, KTableAggregate.
 */
final class FoldNode extends AggregatingNode {
  private static final long serialVersionUID = 1L;

  private final boolean table;
  private final Program subtract;
  private final PagedRows pages;

  FoldNode(
      KeyValueStore store, Layout layout, Steps steps, boolean table, Program subtract) {
    super(store, layout, steps);
    this.table = table;
    this.subtract = subtract == null ? null : own(subtract);
    this.pages = store.pages();
  }

  @Override
  public boolean needsOld() {
    return table;
  }

  @Override
  public void process(Change change) {
    boolean takesBack = table && change.old != null;
    boolean nothing = change.value == null && !takesBack;
    if (change.key == null || (nothing && !table)) {
      scope.drop(this, change);
      return;
    }
    if (nothing || !change.latest) {
      return;
    }
    store.advanceTime(change.ts);
    KeyValueStore.Entry entry = store.lookup(change.key);
    UnsafeRow acc = folded(entry, change, takesBack);
    if (acc != null) {
      update(entry, acc, change);
    }
  }

  private UnsafeRow folded(KeyValueStore.Entry entry, Change change, boolean takesBack) {
    if (pages == null) {
      return folded(entry.row, change, takesBack);
    }
    pages.begin(entry.key);
    return Pages.within(pages, () -> folded(entry.row, change, takesBack));
  }

  @Override
  void willKeep() {
    if (pages != null) {
      pages.keep();
    }
  }

  /** Returns the accumulator after the change; null if there is none before and after. */
  private UnsafeRow folded(UnsafeRow acc, Change change, boolean takesBack) {
    UnsafeRow current = acc;
    if (takesBack && current != null) {
      current = subtract.apply(operands.of(change.key, change.old, current, change.oldTs));
    }
    return change.value == null ? current : added(current, change);
  }
}
