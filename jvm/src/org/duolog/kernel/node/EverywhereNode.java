package org.duolog.kernel.node;

import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.task.Node;

/**
 * Sends each row of a global table to every task of a sub-topology; ignores rows without a key.
 *
 * <p>Source: Kafka Streams GlobalStateUpdateTask, which fills one store for all tasks of a process.
 */
final class EverywhereNode extends Node {
  private static final long serialVersionUID = 1L;

  private final int edge;
  private final int subtopology;

  EverywhereNode(int edge, int subtopology) {
    this.edge = edge;
    this.subtopology = subtopology;
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (change.key != null) {
      scope.emitEverywhere(
          subtopology,
          Envelope.toEdge(edge, change.key, change.value, null, change, scope.origin));
    }
  }
}
