package org.duolog.kernel;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * All sub-topologies of one depth in one stateful operator; the grouping value is (sub-topology,
 * task).
 *
 * <p>Records for a later level pass through as they are. Records for a sink pass through in order:
 * nothing after this operator puts them right.
 *
 * <p>In a micro-batch Spark calls once per task, and the task ends with the iterator. In Real-time
 * Mode it calls once per record, the object lives for an epoch, and each output leaves before the
 * next record is asked for. Threads: one at a time.
 */
final class Level extends StatefulProcessor<Long, Envelope, Envelope> {
  private static final long serialVersionUID = 1L;

  private final String applicationId;
  private final Map<Integer, SubTopology> subtopologies;
  private final Grouping grouping;
  private final ErrorHandlers handlers;
  private final boolean realTime;
  private final long cacheBytesMax;
  private transient Scope scope;
  private transient Map<Long, Scope.Task> tasks;

  Level(
      String applicationId,
      Map<Integer, SubTopology> subtopologies,
      Grouping grouping,
      ErrorHandlers handlers,
      boolean realTime,
      long cacheBytesMax) {
    this.applicationId = applicationId;
    this.subtopologies = subtopologies;
    this.grouping = grouping;
    this.handlers = handlers;
    this.realTime = realTime;
    this.cacheBytesMax = cacheBytesMax;
  }

  /** Also called on the driver, which only wants to know the state's schemas. */
  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    for (SubTopology subtopology : subtopologies.values()) {
      for (Store store : subtopology.stores()) {
        store.attach(
            getHandle()
                .getMapState(
                    store.name(), Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
      }
    }
  }

  @Override
  public Iterator<Envelope> handleInputRows(
      Long group, Iterator<Envelope> records, TimerValues timers) {
    int id = grouping.subtopology(group);
    SubTopology subtopology = subtopologies.get(id);
    if (subtopology == null) {
      return id == Grouping.TO_SINK && !realTime ? Merge.of(records, edge -> edge, edge -> false) : records;
    }
    grouping.check(group);
    if (scope == null) {
      open();
    }
    Scope.Task task =
        tasks.computeIfAbsent(group, unused -> new Scope.Task(group, grouping.task(group)));
    return new Run(subtopology, task, records);
  }

  @Override
  public void close() {
    if (scope != null) {
      subtopologies.values().forEach(SubTopology::close);
      scope = null;
    }
  }

  private void open() {
    scope = new Scope(grouping, handlers, realTime, cacheBytesMax);
    scope.gate = realTime ? TableGate.of(applicationId) : null;
    tasks = new HashMap<>();
    int partition = TaskContext.getPartitionId();
    subtopologies.values().forEach(subtopology -> subtopology.open(scope, partition));
  }

  /** The outputs of one call: works on a record only when the outputs so far have left. */
  private final class Run extends AbstractIterator<Envelope> {
    private final SubTopology subtopology;
    private final Iterator<Envelope> unordered;
    private final Scope.Task task;
    private Iterator<Envelope> records;
    private int finishing;
    private boolean finished;

    Run(SubTopology subtopology, Scope.Task task, Iterator<Envelope> unordered) {
      this.subtopology = subtopology;
      this.task = task;
      this.unordered = unordered;
    }

    @Override
    public boolean hasNext() {
      if (records == null) {
        start();
      }
      while (scope.outputs.isEmpty()) {
        if (scope.goOn()) {
          scope.release();
        } else if (finished) {
          break;
        } else if (records.hasNext()) {
          subtopology.process(records.next());
          scope.release();
        } else {
          finish();
        }
      }
      return !scope.outputs.isEmpty();
    }

    @Override
    public Envelope next() {
      return hasNext() ? scope.outputs.poll() : Iterator.<Envelope>empty().next();
    }

    private void start() {
      scope.enter(task);
      subtopology.select(task.grouping);
      records =
          realTime
              ? unordered
              : Merge.of(unordered, subtopology::queue, subtopology::goesFirst);
    }

    private void finish() {
      finished = realTime || !subtopology.finish(finishing++);
      scope.release();
    }
  }
}
