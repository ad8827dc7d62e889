package org.duolog.kernel.store.window;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** The running task's rows of {@link WindowRows}, as {@link DueOrder} reads and removes them. */
final class DueWindows implements DueOrder.Rows {
  private final WindowRows of;

  DueWindows(WindowRows of) {
    this.of = of;
  }

  @Override
  public Long firstBucket() {
    return of.task.buckets.ceiling(of.task.firstPending);
  }

  @Override
  public long bucket(UnsafeRow key) {
    return of.keys.bucket(key);
  }

  @Override
  public boolean isStored(long bucket) {
    return of.task.buckets.contains(bucket);
  }

  @Override
  public Iterator<UnsafeRow> keys(long bucket) {
    return of.rows.keys(bucket);
  }

  @Override
  public DueOrder.Position position(UnsafeRow key) {
    return new DueOrder.Position(
        of.keys.end(key), of.order.byStart() ? of.start(key) : 0, of.keys.orderBytes(key));
  }

  @Override
  public long firstEnd(long bucket) {
    return of.closing.firstEnd(bucket * of.intervalMs);
  }

  @Override
  public boolean mayBeDue(long bucket) {
    return of.isClosed(firstEnd(bucket));
  }

  @Override
  public boolean isClosed(long end) {
    return of.isClosed(end);
  }

  @Override
  public void write() {
    of.write.run();
  }

  @Override
  public boolean mayGrow(long bucket) {
    return of.stay() && !of.isClosed(of.lastEnd(bucket));
  }

  @Override
  public boolean hasLeft(DueOrder.Position place) {
    return of.stay() && (of.task.emitted.has(place) || of.task.migrated.has(place));
  }

  @Override
  public void leaves(DueOrder.Position place) {
    if (of.stay()) {
      of.task.emitted.advance(place);
    }
  }

  @Override
  public void noneIsDue() {
    if (of.stay()) {
      of.task.emitted.advanceTo(of.task.streamTime - of.closing.delayMs());
    }
  }

  @Override
  public void emptied(long bucket) {
    if (of.stay()) {
      of.task.firstPending = bucket + 1;
    } else if (of.task.buckets.remove(bucket)) {
      of.task.changed = true;
      if (!of.writeThrough) {
        of.task.emptied.add(bucket);
      }
    }
  }
}
