package org.duolog.kernel.node;

import org.duolog.kernel.record.Change;
import org.duolog.kernel.task.Node;

/**
 * Tells an aggregate what time it is by the wall clock, and when the query began, or 0: the key of what comes here. An aggregate
 * that has seen no record for a time lets go of the windows that have ended meanwhile.
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
