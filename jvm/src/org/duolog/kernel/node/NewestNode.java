package org.duolog.kernel.node;

import org.duolog.kernel.record.Change;
import org.duolog.kernel.store.Newest;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/** Stores the announced number of the latest row of each key of the left table. */
final class NewestNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Newest newest;

  NewestNode(Newest newest) {
    this.newest = newest;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    newest.open(scope);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public Store store() {
    return newest.store();
  }

  @Override
  public void process(Change change) {
    newest.announce(change.key, change.value.getLong(0), change.value.getBoolean(1));
  }
}
