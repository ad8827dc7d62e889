package org.duolog.kernel.task;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.functions.CallNotes;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.metrics.NodeCounts;
import org.duolog.kernel.metrics.TaskCounts;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.Origin;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.record.SourceRecord;

/**
 * The context of the nodes of a running task: the current record, the task and the destination of
 * outputs.
 *
 * <p>An error of a record ends its processing at the node where it failed. Nodes that have
 * processed it before keep their changes, as in Kafka Streams.
 *
 * <p>In a level, outputs get new positions: source = task, position = sequence number in that task.
 * At the ingress they keep the source's partition and offset; one record may leave over an edge
 * several times there, ordered by its turn. Outputs with a new key wait until {@link #release}: in
 * Kafka Streams they would pass through a repartition topic, which is read after the record is
 * done. Threads: not shared.
 */
public final class NodeContext {
  /** Partitions of several topics may share a queue; the bits of the topic keep them apart. */
  private static final int PARTITION_BITS = 20;

  public final ArrayDeque<Envelope> outputs = new ArrayDeque<>();
  private final ArrayDeque<Envelope> rekeyed = new ArrayDeque<>();
  private final ArrayDeque<Later> later = new ArrayDeque<>();
  private final ArrayDeque<Later> newer = new ArrayDeque<>();
  public final boolean realTime;
  public final long cacheBytesMax;

  /**
   * The source record that caused the current processing; nodes that buffer updates keep it with
   * them.
   */
  public byte[] origin;

  /** The same record as it was read, at the ingress; null in later levels. */
  public SourceRecord record;

  /** Counts rows that have arrived in tables; null if no stream waits for tables. */
  public TableGate gate;

  /** Routes records to their tasks without a shuffle; null if there is a shuffle. */
  public PartitionRouting direct;

  /** Holds records that wait to be processed together; null if no node does that. */
  public Deferred deferred;

  /** True if the reader of this task polls for answered look-ups. */
  public boolean isPolled;

  private final Grouping grouping;
  private final ErrorHandlers handlers;
  private final Turns turns;
  private Task task;
  private Change current;
  private Node running;
  private int partition;
  private int source;
  private long position;

  public NodeContext(
      Grouping grouping, ErrorHandlers handlers, boolean realTime, long cacheBytesMax) {
    this.grouping = grouping;
    this.handlers = handlers;
    this.realTime = realTime;
    this.cacheBytesMax = cacheBytesMax;
    this.turns = new Turns(grouping.slots());
    CallNotes.forgetAfter(0);
  }

  /** Makes the task the source of the following outputs. */
  public void enter(Task task) {
    this.task = task;
    this.partition = task.number;
    this.source = task.number;
  }

  /** Makes a record of a source topic the source of the following outputs; topics are numbered. */
  public void enter(int topic, int sourcePartition, long offset) {
    this.task = null;
    this.partition = sourcePartition;
    this.source = topic << PARTITION_BITS | sourcePartition;
    this.position = offset;
    turns.reset();
  }

  /** Captures the current position, so that a record of this size can wait and proceed later. */
  public Position position(int bytes) {
    return new Position(source, partition, position, origin, record, deferred.startWaiting(bytes));
  }

  /** Continues at a captured position. */
  public void resume(Position place) {
    reportNotes();
    source = place.source;
    partition = place.partition;
    position = place.position;
    origin = place.origin;
    record = place.record;
    deferred.resume(place.turn);
  }

  /** Processes a change with a node; passes errors of the record to their handler. */
  public void run(Node node, Change change) {
    Change before = current;
    Node caller = running;
    reportNotes();
    current = change;
    running = node;
    node.counts.process();
    try {
      node.process(change);
    } catch (RecordException e) {
      failed(node, change, e);
    }
    reportNotes();
    current = before;
    running = caller;
  }

  /**
   * Returns metadata of the source record that caused the current processing.
   *
   * @param part 1 topic, 2 partition, 3 offset, 4 headers
   */
  public Object metadata(int part) {
    return switch (part) {
      case 1 -> UTF8String.fromString(handlers.topicOf(Origin.source(origin)));
      case 2 -> Origin.partition(origin);
      case 3 -> Origin.offset(origin);
      default -> current.headers;
    };
  }

  /** Counts a record that is too late for a window. */
  public void late(Node node) {
    node.counts.drop(NodeCounts.Reason.LATE);
    handlers.late(node.name());
  }

  /** Counts a row that a node ignores because it is not the latest version. */
  public void outOfOrder(Node node) {
    node.counts.drop(NodeCounts.Reason.OUT_OF_ORDER);
    handlers.late(node.name());
  }

  /** Counts a record that a node ignores because its key or its value is null. */
  public void drop(Node node, Change change) {
    node.counts.drop(
        change.key == null ? NodeCounts.Reason.NULL_KEY : NodeCounts.Reason.NULL_VALUE);
  }

  /** Handles the error of a record at a node; returns if the query continues without the record. */
  public void failed(Node node, Change change, RecordException e) {
    node.counts.drop(NodeCounts.Reason.ERROR);
    handle(node.stage(), change.headers, node.name(), (Exception) e.getCause());
  }

  /** Reports that a function failed and its result is null; the record continues. */
  public void noted(String at, String why) {
    Envelope entry = handlers.noted(origin, at, why);
    if (entry != null) {
      emitToSink(entry);
    }
  }

  /** Handles the error of the current record, and emits its dead letter if there is one. */
  void handle(ErrorHandlers.Stage stage, byte[] headers, String at, Exception cause) {
    handle(handlers, stage, headers, at, cause);
  }

  /** The same with other error handlers. */
  public void handle(
      ErrorHandlers by, ErrorHandlers.Stage stage, byte[] headers, String at, Exception cause) {
    Envelope deadLetter = by.handle(stage, origin, record, headers, at, cause);
    if (deadLetter != null) {
      emitToSink(deadLetter);
    }
  }

  /** The number of the running task within its sub-topology. */
  public int taskNumber() {
    return task.number;
  }

  /** The grouping number of the running task; 0 at the ingress. */
  public long taskGrouping() {
    return task == null ? 0 : task.grouping;
  }

  /**
   * Returns the task of a key, limited to {@code partitions}; for a null key, the task of the
   * source partition.
   */
  public int taskOf(byte[] keyBytes, long partitions) {
    return keyBytes == null
        ? taskOf((long) partition, partitions)
        : grouping.taskOfKey(keyBytes, partitions);
  }

  /** Returns the task of a partition, limited to {@code partitions}. */
  public int taskOf(long partition, long partitions) {
    return grouping.taskOfPartition(partition, partitions);
  }

  /** Sends a record to a task, now or at the next {@link #release}. */
  public void emit(int subtopology, int target, boolean later, Envelope envelope) {
    if (direct != null) {
      direct.check(partition, subtopology, target);
    }
    envelope.setGrouping(grouping.of(subtopology, target));
    if (deferred != null) {
      hold(envelope, later);
    } else if (later) {
      rekeyed.add(envelope);
    } else {
      send(envelope);
    }
  }

  /** Sends a record to every task of a sub-topology. */
  public void emitEverywhere(int subtopology, Envelope envelope) {
    for (int target = 0; target < grouping.tasks(); target++) {
      Envelope copy = target == 0 ? envelope : envelope.copy();
      copy.setGrouping(grouping.of(subtopology, target));
      send(copy);
    }
  }

  public void emitToSink(Envelope envelope) {
    envelope.setGrouping(grouping.of(Grouping.TO_SINK, grouping.taskOfSource(partition)));
    send(envelope);
  }

  /** Reports calls in expressions that failed for the current record, at the node that runs. */
  void reportNotes() {
    for (String why : CallNotes.take()) {
      noted(running == null ? "" : running.name(), why);
    }
  }

  /** Ends a record: sends its outputs with new keys. */
  public void release() {
    reportNotes();
    for (Envelope envelope; (envelope = rekeyed.poll()) != null; ) {
      send(envelope);
    }
  }

  /**
   * Defers work with many outputs: it proceeds step by step, until a step returns false.
   *
   * <p>Work that a step itself defers runs before the remaining steps, as if nothing had been
   * deferred.
   */
  public void later(BooleanSupplier steps) {
    newer.add(new Later(steps, origin));
  }

  /** Runs one step of deferred work; returns false if there is none. */
  public boolean resume() {
    for (Later last; (last = newer.pollLast()) != null; ) {
      later.addFirst(last);
    }
    Later first = later.peek();
    if (first == null) {
      return false;
    }
    origin = first.origin;
    if (!first.steps.getAsBoolean()) {
      later.remove();
    }
    return true;
  }

  private void send(Envelope envelope) {
    if (deferred != null) {
      hold(envelope, false);
    } else {
      envelope.stamp(source, position, 0);
      leave(envelope);
    }
  }

  private void hold(Envelope envelope, boolean last) {
    envelope.stamp(source, position, 0);
    deferred.hold(envelope, last);
  }

  /** Emits an output that already has its position. */
  void leave(Envelope envelope) {
    if (task != null) {
      envelope.stamp(task.number, task.sequence++, 0);
    } else {
      if (deferred != null) {
        turns.begin(envelope.source(), envelope.position());
      }
      int turn = turns.of(grouping.slot(envelope.getGrouping()), envelope.edge());
      envelope.stamp(envelope.source(), envelope.position(), turn);
    }
    outputs.add(envelope);
  }

  /**
   * Orders the outputs of one source record that their edges do not order. To one target they leave
   * in the order of edge ids; each time that does not hold, a new turn starts.
   */
  private static final class Turns {
    private final int[] turn;
    private final int[] last;
    private int lastSource = -1;
    private long lastPosition = -1;

    Turns(int targets) {
      turn = new int[targets];
      last = new int[targets];
    }

    void reset() {
      Arrays.fill(turn, 0);
      Arrays.fill(last, Integer.MIN_VALUE);
    }

    /** Resets the turns when another record starts. */
    void begin(int source, long position) {
      if (source != lastSource || position != lastPosition) {
        reset();
        lastSource = source;
        lastPosition = position;
      }
    }

    int of(int target, int edge) {
      if (edge <= last[target]) {
        turn[target]++;
      }
      last[target] = edge;
      return turn[target];
    }
  }

  /** The captured position of a record; `turn` is its place in the order of all waiting records. */
  public record Position(
      int source, int partition, long position, byte[] origin, SourceRecord record, int[] turn) {}

  /** Deferred work of a record. */
  private record Later(BooleanSupplier steps, byte[] origin) {}

  /** One task of a sub-topology within one micro-batch or epoch. */
  public static final class Task {
    public final long grouping;
    final int number;
    public final TaskCounts counts;
    private final NodeCounts[] ofNodes;

    private long sequence;

    /** @param nodes the nodes of its sub-topology */
    public Task(long grouping, int number, TaskCounts counts, Node[] nodes) {
      this.grouping = grouping;
      this.number = number;
      this.counts = counts;
      this.ofNodes = new NodeCounts[nodes.length];
      for (int i = 0; i < nodes.length; i++) {
        ofNodes[i] = counts.node(nodes[i].name());
      }
    }

    /** Makes nodes count into this task. */
    public void counted(Node[] nodes) {
      for (int i = 0; i < nodes.length; i++) {
        nodes[i].counts = ofNodes[i];
      }
    }
  }
}
