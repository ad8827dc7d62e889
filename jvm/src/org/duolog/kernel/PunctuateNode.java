package org.duolog.kernel;

/** Tells a processor what time it is by the wall clock: the first of the key of what comes here. */
final class PunctuateNode extends Node {
  private static final long serialVersionUID = 1L;

  private final ProcessNode processor;

  PunctuateNode(ProcessNode processor) {
    this.processor = processor;
  }

  @Override
  boolean needsOld() {
    return false;
  }

  @Override
  void process(Change tick) {
    processor.tick(tick.key.getLong(0));
  }
}
