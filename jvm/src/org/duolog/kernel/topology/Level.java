package org.duolog.kernel.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.util.TaskCompletionListener;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.metrics.TaskCounts;
import org.duolog.kernel.python.ProcessorTask;
import org.duolog.kernel.python.ProcessorWorkers;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.store.BytesMap;
import org.duolog.kernel.store.Changelog;
import org.duolog.kernel.store.StoreSizes;
import org.duolog.kernel.task.Merge;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.StartOrder;
import org.duolog.kernel.task.Store;
import org.duolog.kernel.task.TableGate;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * All sub-topologies of one depth in one stateful operator; the grouping number stands for
 * (sub-topology, task).
 *
 * <p>Records for a later level pass through unchanged. Records for a sink pass through in order: no
 * later operator sorts them.
 *
 * <p>The write-back cache exists only in micro-batches, because Real-time Mode calls the operator
 * once per record. The kernel uses no timers of Spark: with processing-time timers, an
 * available-now query would never end.
 *
 * <p>In a micro-batch Spark calls the operator once per task, and the task ends with the iterator.
 * In Real-time Mode it calls once per record, the instance lives for an epoch, and each output
 * leaves before the next record is requested. Threads: one at a time.
 */
public final class Level extends StatefulProcessor<Long, Envelope, Envelope> {
  private static final long serialVersionUID = 1L;

  private final String applicationId;
  private final String run;
  private final String launch;
  private final Map<Integer, SubTopology> subtopologies;
  private final Grouping grouping;
  private final ErrorHandlers handlers;
  private final boolean realTime;
  private final long cacheBytesMax;
  private final Changelog changelog;
  private transient NodeContext scope;
  private transient Map<Long, NodeContext.Task> tasks;
  private transient Map<Long, ProcessorTask> processors;
  private transient TaskContext context;
  private transient Map<String, MapState<byte[], byte[]>> states;

  /** Counts sent and processed records; null if records do not wait for each other. */
  private transient StartOrder order;

  Level(
      String applicationId,
      String run,
      String launch,
      Map<Integer, SubTopology> subtopologies,
      Grouping grouping,
      ErrorHandlers handlers,
      boolean realTime,
      long cacheBytesMax,
      Changelog changelog) {
    this.applicationId = applicationId;
    this.run = run;
    this.launch = launch;
    this.subtopologies = subtopologies;
    this.grouping = grouping;
    this.handlers = handlers;
    this.realTime = realTime;
    this.cacheBytesMax = cacheBytesMax;
    this.changelog = changelog;
  }

  /** Also called on the driver, to find the schemas of the state. */
  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    states = new HashMap<>();
    List<StoreSizes.Counted> counted = new ArrayList<>();
    subtopologies.forEach(
        (id, subtopology) -> {
          for (Store store : subtopology.stores()) {
            MapState<byte[], byte[]> state = state(getHandle(), store.name());
            store.attach(changelog == null ? state : changelog.logged(store.name(), state));
            states.put(store.name(), state);
            if (state instanceof BytesMap map) {
              counted.add(new StoreSizes.Counted(map, store.name(), id));
            }
          }
        });
    if (getHandle() instanceof StatefulProcessorHandleImpl handle) {
      StoreSizes.countAtCommit(handle, run, grouping, counted);
    }
  }

  public Set<Integer> subtopologies() {
    return subtopologies.keySet();
  }

  /** Puts an entry into a store, before any record is processed. */
  public void put(InitialEntry entry) {
    ImplicitGroupingKeyTracker.setImplicitKey(entry.getNumber());
    try {
      states.get(entry.getStore()).updateValue(entry.getKey(), entry.getValue());
    } finally {
      ImplicitGroupingKeyTracker.setImplicitKey(entry.getGrouping());
    }
  }

  /** Declares the state of a store to Spark; a restore declares it in the same way. */
  public static MapState<byte[], byte[]> state(StatefulProcessorHandle handle, String store) {
    return BytesMap.of(handle, store);
  }

  @Override
  public Iterator<Envelope> handleInputRows(
      Long group, Iterator<Envelope> records, TimerValues timers) {
    int id = grouping.subtopology(group);
    SubTopology subtopology = subtopologies.get(id);
    if (subtopology == null) {
      return id == Grouping.TO_SINK && !realTime
          ? Merge.of(records, edge -> edge, edge -> false)
          : records;
    }
    grouping.check(group);
    if (scope == null) {
      open();
    }
    NodeContext.Task task =
        tasks.computeIfAbsent(group, unused -> task(group, id, subtopology));
    return new Run(subtopology, task, records);
  }

  private NodeContext.Task task(long group, int id, SubTopology subtopology) {
    int number = grouping.task(group);
    TaskCounts counts = Metrics.of(run).task(id + "_" + number);
    if (subtopology.hasProcessors()) {
      processors.put(group, new ProcessorTask(session(id + "_" + number), isAgain()));
    }
    return new NodeContext.Task(group, number, counts, subtopology.nodes());
  }

  /**
   * Each Spark query has its own processes: the previous query may have failed, and its last
   * micro-batch runs again.
   */
  private ProcessorWorkers.Session session(String task) {
    return new ProcessorWorkers.Session(applicationId, ProcessorWorkers.run(run, launch), task);
  }

  /**
   * Returns true if Spark retries the task, so that processes of the earlier attempt are ahead of
   * the state.
   */
  private boolean isAgain() {
    return context != null && (context.attemptNumber() > 0 || context.stageAttemptNumber() > 0);
  }

  @Override
  public void close() {
    if (scope != null) {
      scope = null;
      try {
        subtopologies.values().forEach(SubTopology::close);
      } finally {
        if (context == null) {
          endProcessors(false);
        }
      }
    }
  }

  /**
   * Spark closes only processors that have reached their end; a task may fail before or after that.
   */
  private void taskEnds(TaskContext ended) {
    try {
      close();
    } finally {
      endProcessors(ended.isFailed() || ended.isInterrupted());
    }
  }

  private void endProcessors(boolean failed) {
    for (ProcessorTask ofTask : processors.values()) {
      ofTask.close(failed);
    }
  }

  private void open() {
    scope = new NodeContext(grouping, handlers, realTime, cacheBytesMax);
    scope.gate = realTime ? TableGate.of(applicationId) : null;
    order = realTime ? StartOrder.of(applicationId) : null;
    tasks = new HashMap<>();
    processors = new HashMap<>();
    if (changelog != null) {
      changelog.open(scope);
    }
    if (context != TaskContext.get()) {
      context = TaskContext.get();
      if (context != null) {
        TaskCompletionListener ends = this::taskEnds;
        context.addTaskCompletionListener(ends);
      }
    }
    int partition = TaskContext.getPartitionId();
    subtopologies.values().forEach(subtopology -> subtopology.open(scope, partition));
  }

  /** The outputs of one call: processes a record only after the outputs so far have left. */
  private final class Run extends AbstractIterator<Envelope> {
    private final SubTopology subtopology;
    private final Iterator<Envelope> unordered;
    private final NodeContext.Task task;
    private Iterator<Envelope> records;
    private int finishing;
    private boolean finished;
    private boolean counted;

    Run(SubTopology subtopology, NodeContext.Task task, Iterator<Envelope> unordered) {
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
        if (scope.resume() || subtopology.punctuate()) {
          done();
        } else if (finished) {
          if (scope.deferred == null) {
            break;
          }
          scope.deferred.flush();
          boolean isDue = subtopology.hasDue();
          if (scope.outputs.isEmpty() && !isDue) {
            break;
          }
        } else if (records.hasNext()) {
          Envelope record = records.next();
          task.counts.observe(record.ts());
          subtopology.process(record);
          done();
        } else {
          finish();
        }
      }
      if (scope.outputs.isEmpty() && order != null && !counted) {
        counted = true;
        order.processed();
      }
      return !scope.outputs.isEmpty();
    }

    @Override
    public Envelope next() {
      Envelope next = hasNext() ? scope.outputs.poll() : Iterator.<Envelope>empty().next();
      if (order != null && !next.forSink()) {
        order.sent();
      }
      return next;
    }

    private void done() {
      scope.release();
      if (scope.deferred != null) {
        scope.deferred.recordDone();
      }
    }

    private void start() {
      scope.enter(task);
      subtopology.select(task, processors.get(task.grouping));
      records =
          realTime
              ? unordered
              : Merge.of(unordered, subtopology::queue, subtopology::goesFirst);
    }

    private void finish() {
      finished = realTime || !subtopology.finish(finishing++);
      done();
    }
  }
}
