package org.duolog.kernel.node;

import org.duolog.kernel.record.Change;
import org.duolog.kernel.task.Node;

/** Passes the time by the wall clock to a processor; it is the first column of its input's key. */
public final class PunctuateNode extends Node {
  private static final long serialVersionUID = 1L;

  private final ProcessNode processor;

  PunctuateNode(ProcessNode processor) {
    this.processor = processor;
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change tick) {
    processor.tick(tick.key.getLong(0));
  }
}
