package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.python.ProcessorStores;
import org.duolog.kernel.python.ProcessorTask;
import org.duolog.kernel.python.ProcessorWire;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.record.CallFailedException;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.IdleTicks;
import org.duolog.kernel.record.Origin;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.BucketStore;
import org.duolog.kernel.task.Deferred;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.task.Store;

/**
 * Calls a user's Python processor with each record and by time. What the processor forwards goes to
 * its {@link ProcessOutputNode}s as the number of an output, with key and value as JSON.
 *
 * <p>In a micro-batch records are collected into batches if downstream nodes cannot notice that
 * ({@link Deferred}).
 *
 * <p>Source: Kafka Streams ProcessorNode, StreamTask.maybePunctuateStreamTime.
 */
public final class ProcessNode extends Node implements Deferred.Holding {
  private static final long serialVersionUID = 1L;
  static final int FORWARDED_COLUMNS = 3;
  static final int OUTPUT = 0;
  static final int KEY = 1;
  static final int VALUE = 2;

  private final PythonFunction function;
  private final String applicationId;
  private final Program record;
  private final BucketStore own;
  private final Map<String, BucketStore> seen;
  private final List<Store> filled;
  private final boolean waits;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;
  private transient UnsafeRowWriter writer;
  private transient ProcessorStores stores;
  private transient Map<ProcessorTask, ProcessorTask.TaskProcessor> tasks;
  private transient ProcessorTask task;
  private transient ProcessorTask.TaskProcessor here;
  private transient long lastTime;
  private transient List<Waits> waiting;
  private transient Change empty;

  /** A waiting item, and the position of its outputs. */
  private record Waits(NodeContext.Position place, ProcessorWire.Item item) {}

  /**
   * @param own stores stream time and schedules
   * @param seen the stores that the processor accesses
   * @param filled those stores that this node registers
   */
  ProcessNode(
      PythonFunction function,
      String applicationId,
      Program record,
      BucketStore own,
      Map<String, BucketStore> seen,
      List<Store> filled,
      boolean waits,
      int keyColumns,
      int valueColumns) {
    this.function = function;
    this.applicationId = applicationId;
    this.record = own(record);
    this.own = own;
    this.seen = seen;
    this.filled = filled;
    this.waits = waits;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public List<Store> stores() {
    return filled;
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
    writer = new UnsafeRowWriter(FORWARDED_COLUMNS);
    stores = new ProcessorStores(seen);
    tasks = new HashMap<>();
    waiting = new ArrayList<>();
    empty = new Change();
    if (waits && !scope.realTime) {
      if (scope.deferred == null) {
        scope.deferred = new Deferred(scope);
      }
      scope.deferred.join(this);
    }
  }

  /** Selects the task of the following calls. */
  public void select(ProcessorTask of) {
    task = of;
    lastTime = -1;
    here = tasks.computeIfAbsent(of, one -> one.new TaskProcessor(function, name(), own, stores));
  }

  @Override
  public void process(Change change) {
    byte[] data = record.bytes(operands.of(change.key, change.value, null, change.ts));
    byte[] topic = ((UTF8String) scope.metadata(1)).getBytes();
    take(
        ProcessorWire.Item.record(
            task.streamTime(),
            change,
            Origin.partition(scope.origin),
            Origin.offset(scope.origin),
            topic,
            data));
  }

  /** Processes a tick of the wall clock. */
  void tick(long nowMs) {
    begin();
    if (here.nextWallClock() <= nowMs) {
      take(ProcessorWire.Item.time(ProcessorWire.WALL_CLOCK, task.streamTime(), nowMs));
    }
    want();
  }

  /** Returns true if a schedule by stream time is due and has not been called. */
  public boolean isDue() {
    long time = task.streamTime();
    if (time < 0) {
      return false;
    }
    begin();
    return here.nextStreamTime() <= time && (lastTime < time || waiting.isEmpty());
  }

  /** Calls the schedules that are due by stream time, after a record is done. */
  public void punctuate() {
    lastTime = task.streamTime();
    take(ProcessorWire.Item.time(ProcessorWire.STREAM_TIME, lastTime, lastTime));
  }

  /** Returns the stream time at which the next schedule is due. */
  public long nextStreamTime() {
    return here.nextStreamTime();
  }

  /** Stores the time at once if there is no end of a micro-batch. */
  public void settleAtOnce() {
    if (scope.realTime) {
      settle();
    }
  }

  /** Stores the time that the task has reached. */
  public void settle() {
    if (here.hasStarted()) {
      here.settle();
    }
  }

  private void take(ProcessorWire.Item item) {
    if (waits && !scope.realTime) {
      waiting.add(new Waits(scope.position(item.size()), item));
      return;
    }
    begin();
    for (ProcessorWire.Output told : here.call(List.of(item))) {
      forwardOutput(told, item);
    }
    want();
  }

  @Override
  public boolean isFull() {
    return false;
  }

  @Override
  public boolean isAnswered() {
    return !waiting.isEmpty();
  }

  @Override
  public int oldest() {
    int oldest = Integer.MAX_VALUE;
    for (Waits one : waiting) {
      oldest = Math.min(oldest, one.place.turn()[0]);
    }
    return oldest;
  }

  @Override
  public boolean advance(boolean waits) {
    boolean any = !waiting.isEmpty();
    waiting.forEach(one -> scope.deferred.stopWaiting(one.item.size()));
    flush();
    return any;
  }

  @Override
  public void flush() {
    if (waiting.isEmpty()) {
      return;
    }
    List<Waits> taken = waiting;
    waiting = new ArrayList<>();
    scope.resume(taken.get(0).place);
    begin();
    List<ProcessorWire.Output> told =
        here.call(taken.stream().map(Waits::item).toList());
    for (int i = 0; i < taken.size(); i++) {
      scope.resume(taken.get(i).place);
      forwardOutput(told.get(i), taken.get(i).item);
    }
    want();
  }

  private void begin() {
    if (!here.hasStarted()) {
      here.begin();
      for (ProcessorWire.Output told : here.takeInitOutputs()) {
        forwardOutput(told, null);
      }
      want();
    }
  }

  private void want() {
    IdleTicks.want(applicationId, name() + " " + scope.taskNumber(), here.nextWallClock());
  }

  private void forwardOutput(ProcessorWire.Output told, ProcessorWire.Item item) {
    for (ProcessorWire.Forwarded one : told.forwarded()) {
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(OUTPUT, one.output());
      write(KEY, one.key());
      write(VALUE, one.value());
      // An output may return to this node; the row is not read any more by then.
      forward(out.set(null, writer.getRow(), null, one.ts(), 0, one.headers()));
    }
    for (String error : told.errors()) {
      empty.headers = item == null ? null : item.headers();
      scope.failed(this, empty, new RecordException(new CallFailedException(error)));
    }
  }

  private void write(int column, byte[] bytes) {
    if (bytes == null) {
      writer.setNullAt(column);
    } else {
      writer.write(column, bytes);
    }
  }
}
