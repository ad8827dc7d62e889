package org.duolog.kernel.node;

import org.duolog.kernel.record.Change;
import org.duolog.kernel.task.Node;

/** Turns a table's changes into records of a stream: the new value, null for a deletion. */
final class ToStreamNode extends Node {
  private static final long serialVersionUID = 1L;

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    out.set(change.key, change.value, null, change);
    out.latest = true; // Each is a record of its own.
    forward(out);
  }
}
