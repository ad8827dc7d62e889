package org.duolog.kernel;

import java.util.ArrayDeque;

/**
 * Where the nodes of a running task stand: which task it is, and where their output goes.
 *
 * <p>In a level the outputs are restamped: source = task, position = running number of that task.
 * At the ingress they keep the source's partition and offset. What goes on under a new key waits
 * until {@link #release}: in Kafka Streams it would go through a repartition topic, which is read
 * when the record that caused it is done. Threads: not shared.
 */
final class Scope {
  final ArrayDeque<Envelope> outputs = new ArrayDeque<>();
  private final ArrayDeque<Envelope> rekeyed = new ArrayDeque<>();
  final boolean realTime;
  final long cacheBytesMax;
  private final Grouping grouping;
  private Task task;
  private int source;
  private long position;

  Scope(Grouping grouping, boolean realTime, long cacheBytesMax) {
    this.grouping = grouping;
    this.realTime = realTime;
    this.cacheBytesMax = cacheBytesMax;
  }

  /** Outputs come from a task of a level until told otherwise. */
  void enter(Task task) {
    this.task = task;
    this.source = task.number;
  }

  /** Outputs come from this record of a source topic. */
  void enter(int sourcePartition, long offset) {
    this.task = null;
    this.source = sourcePartition;
    this.position = offset;
  }

  /** The grouping value of the running task; 0 at the ingress. */
  long taskGrouping() {
    return task == null ? 0 : task.grouping;
  }

  /** Sends a record to the task of its key, now or at the next release. */
  void emit(int subtopology, byte[] keyBytes, boolean later, Envelope envelope) {
    int target =
        keyBytes == null ? grouping.taskOfSource(source) : grouping.taskOfKey(keyBytes);
    envelope.setGrouping(grouping.of(subtopology, target));
    if (later) {
      rekeyed.add(envelope);
    } else {
      send(envelope);
    }
  }

  void emitToSink(Envelope envelope) {
    envelope.setGrouping(grouping.of(Grouping.TO_SINK, grouping.taskOfSource(source)));
    send(envelope);
  }

  /** A record is done: sends what it caused under new keys. */
  void release() {
    for (Envelope envelope; (envelope = rekeyed.poll()) != null; ) {
      send(envelope);
    }
  }

  private void send(Envelope envelope) {
    envelope.setSource(source);
    envelope.setPosition(task == null ? position : task.sequence++);
    outputs.add(envelope);
  }

  /** One task of a sub-topology within one micro-batch or epoch. */
  static final class Task {
    final long grouping;
    final int number;
    private long sequence;

    Task(long grouping, int number) {
      this.grouping = grouping;
      this.number = number;
    }
  }
}
