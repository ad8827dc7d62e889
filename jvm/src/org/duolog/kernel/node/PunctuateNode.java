package org.duolog.kernel.node;

import org.duolog.kernel.record.Change;
import org.duolog.kernel.task.Node;

/** Tells a processor what time it is by the wall clock: the first of the key of what comes here. */
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
