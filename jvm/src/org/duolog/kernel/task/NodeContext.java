package org.duolog.kernel.task;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import org.apache.spark.unsafe.types.UTF8String;
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
 * Where the nodes of a running task stand: which task it is, and where their output goes.
 *
 * <p>What cannot be computed for a record ends that record at the node where it failed: the nodes
 * before it and beside it keep what they did, as in Kafka Streams.
 *
 * <p>In a level the outputs are restamped: source = task, position = running number of that task.
 * At the ingress they keep the source's partition and offset; there one record may leave over an edge
 * more than once, and its turn tells the order. What goes on under a new key waits
 * until {@link #release}: in Kafka Streams it would go through a repartition topic, which is read
 * when the record that caused it is done. Threads: not shared.
 */
public final class NodeContext {
  /** Partitions of several topics may be merged into one queue: by their numbers they stay apart. */
  private static final int PARTITION_BITS = 20;

  public final ArrayDeque<Envelope> outputs = new ArrayDeque<>();
  private final ArrayDeque<Envelope> rekeyed = new ArrayDeque<>();
  private final ArrayDeque<Later> later = new ArrayDeque<>();
  private final ArrayDeque<Later> newer = new ArrayDeque<>();
  public final boolean realTime;
  public final long cacheBytesMax;

  /** The record of a source topic that set off what is going on; nodes that hold back keep it. */
  public byte[] origin;

  /** The same as it was read, at the ingress; null behind it. */
  public SourceRecord record;

  /** Hears of rows that have come to their stores; null where nobody waits for them. */
  public TableGate gate;

  /** How records reach their tasks without a shuffle; null where they do not. */
  public PartitionRouting direct;

  /** Where records wait for others, to be taken together; null where they do not. */
  public Deferred deferred;

  /** Whether who reads the records of this task asks for what has been answered meanwhile. */
  public boolean isAsked;

  private final Grouping grouping;
  private final ErrorHandlers handlers;
  private final Turns turns;
  private Task task;
  private Change current;
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
  }

  /** Outputs come from a task of a level until told otherwise. */
  public void enter(Task task) {
    this.task = task;
    this.partition = task.number;
    this.source = task.number;
  }

  /** Outputs come from this record of a source topic; topics are numbered. */
  public void enter(int topic, int sourcePartition, long offset) {
    this.task = null;
    this.partition = sourcePartition;
    this.source = topic << PARTITION_BITS | sourcePartition;
    this.position = offset;
    turns.reset();
  }

  /** Where what is going on stands, to go on with it later: a record waits, with so many bytes. */
  public Place place(int bytes) {
    return new Place(source, partition, position, origin, record, deferred.waits(bytes));
  }

  /** Goes on with what was left at a place. */
  public void goOn(Place place) {
    tellNotes();
    source = place.source;
    partition = place.partition;
    position = place.position;
    origin = place.origin;
    record = place.record;
    deferred.goOn(place.turn);
  }

  /** Has a node process a change, or hands the record over to the handler of its errors. */
  public void run(Node node, Change change) {
    Change before = current;
    current = change;
    node.counts.process();
    try {
      node.process(change);
    } catch (RecordException e) {
      failed(node, change, e);
    }
    current = before;
  }

  /**
   * What stands beside key and value of the record that set off what is going on.
   *
   * @param part 1 topic, 2 partition, 3 offset, 4 headers
   */
  public Object beside(int part) {
    return switch (part) {
      case 1 -> UTF8String.fromString(handlers.topicOf(Origin.source(origin)));
      case 2 -> Origin.partition(origin);
      case 3 -> Origin.offset(origin);
      default -> current.headers;
    };
  }

  /** A record has come to a node too late for a window. */
  public void late(Node node) {
    node.counts.drop(NodeCounts.Reason.LATE);
    handlers.late(node.name());
  }

  /** A node takes no version of a row that is not its latest. */
  public void outOfOrder(Node node) {
    node.counts.drop(NodeCounts.Reason.OUT_OF_ORDER);
    handlers.late(node.name());
  }

  /** A record has come to a node that takes none without a key, or none without a value. */
  public void drop(Node node, Change change) {
    node.counts.drop(
        change.key == null ? NodeCounts.Reason.NULL_KEY : NodeCounts.Reason.NULL_VALUE);
  }

  /** The record has failed at a node; returns if the query goes on without it. */
  public void failed(Node node, Change change, RecordException e) {
    node.counts.drop(NodeCounts.Reason.ERROR);
    handle(node.stage(), change.headers, node.name(), (Exception) e.getCause());
  }

  /** A function has given null because it has failed, and the record goes on. */
  public void noted(String at, String why) {
    Envelope entry = handlers.noted(origin, at, why);
    if (entry != null) {
      emitToSink(entry);
    }
  }

  /** The current record has failed; what is left of it is its dead letter. */
  void handle(ErrorHandlers.Stage stage, byte[] headers, String at, Exception cause) {
    handle(handlers, stage, headers, at, cause);
  }

  /** The same, where others decide. */
  public void handle(
      ErrorHandlers by, ErrorHandlers.Stage stage, byte[] headers, String at, Exception cause) {
    Envelope deadLetter = by.handle(stage, origin, record, headers, at, cause);
    if (deadLetter != null) {
      emitToSink(deadLetter);
    }
  }

  /** The number of the running task, among those of its sub-topology. */
  public int taskNumber() {
    return task.number;
  }

  /** The grouping value of the running task; 0 at the ingress. */
  public long taskGrouping() {
    return task == null ? 0 : task.grouping;
  }

  /** The task of a key, of no more than {@code partitions}; of a null one that of the source. */
  public int taskOf(byte[] keyBytes, long partitions) {
    return keyBytes == null
        ? taskOf((long) partition, partitions)
        : grouping.taskOfKey(keyBytes, partitions);
  }

  /** The task of a partition, of no more than {@code partitions}. */
  public int taskOf(long partition, long partitions) {
    return grouping.taskOfPartition(partition, partitions);
  }

  /** Sends a record to a task, now or at the next release. */
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

  /** Tells why calls in expressions have given null for the current record, before another one goes on. */
  void tellNotes() {
    for (String why : Notes.take()) {
      noted("", why);
    }
  }

  /** A record is done: sends what it caused under new keys. */
  public void release() {
    tellNotes();
    for (Envelope envelope; (envelope = rekeyed.poll()) != null; ) {
      send(envelope);
    }
  }

  /**
   * Leaves work of many outputs for later: it goes on step by step, until a step finds nothing to do.
   *
   * <p>What a step leaves in its turn goes before what is left of that step's own work: as if nothing
   * had waited.
   */
  public void later(BooleanSupplier steps) {
    newer.add(new Later(steps, origin));
  }

  /** Goes on with what was left for later, by a step; false if there is nothing. */
  public boolean goOn() {
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

  /** It is the turn of what was stamped with its place. */
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
   * The order of what one record of a source causes, where its edges do not tell: to one target they
   * leave in the order of their ids, and each time that does not hold a turn ends.
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

    /** Begins anew where another record begins. */
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

  /** Where a record stood; `turn` is its place in the order of all that wait. */
  public record Place(
      int source, int partition, long position, byte[] origin, SourceRecord record, int[] turn) {}

  /** What a record left for later. */
  private record Later(BooleanSupplier steps, byte[] origin) {}

  /** One task of a sub-topology within one micro-batch or epoch. */
  public static final class Task {
    public final long grouping;
    final int number;
    public final TaskCounts counts;
    private final NodeCounts[] ofNodes;

    private long sequence;

    /** @param nodes of its sub-topology */
    public Task(long grouping, int number, TaskCounts counts, Node[] nodes) {
      this.grouping = grouping;
      this.number = number;
      this.counts = counts;
      this.ofNodes = new NodeCounts[nodes.length];
      for (int i = 0; i < nodes.length; i++) {
        ofNodes[i] = counts.node(nodes[i].name());
      }
    }

    /** What nodes count from here on is this task's. */
    public void counted(Node[] nodes) {
      for (int i = 0; i < nodes.length; i++) {
        nodes[i].counts = ofNodes[i];
      }
    }
  }
}
