package org.duolog.kernel;

/** Hears which rows of the left table are the newest. */
final class NewestNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Newest newest;

  NewestNode(Newest newest) {
    this.newest = newest;
  }

  @Override
  void open(Scope scope, int partition) {
    super.open(scope, partition);
    newest.open(scope);
  }

  @Override
  boolean needsOld() {
    return false;
  }

  @Override
  Store store() {
    return newest.store();
  }

  @Override
  void process(Change change) {
    newest.announce(change.key, change.value.getLong(0), change.value.getBoolean(1));
  }
}
