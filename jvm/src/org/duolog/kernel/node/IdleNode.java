package org.duolog.kernel.node;

import org.duolog.kernel.record.Change;
import org.duolog.kernel.task.Node;

/**
 * Passes ticks to an aggregate: its input's key is the time by the wall clock, and the start time
 * of the query or 0. An aggregate that has had no record for some time closes the windows that have
 * ended meanwhile.
 */
public final class IdleNode extends Node {
  private static final long serialVersionUID = 1L;

  private final AggregatingNode fold;

  IdleNode(AggregatingNode fold) {
    this.fold = fold;
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change tick) {
    fold.tick(tick.key.getLong(0), tick.key.getLong(1));
  }
}
