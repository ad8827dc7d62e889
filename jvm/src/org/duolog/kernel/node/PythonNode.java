package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.python.PythonLookups;
import org.duolog.kernel.python.PythonWorkers;
import org.duolog.kernel.record.CallFailedException;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Deferred;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Calls a Python function with many records at once, and computes a new value from its results. A
 * null value stays null without a call; with {@code nulls} the function is called with nulls, and
 * the node that reads the result restores the null value ({@link Change#nullWithResults}).
 *
 * <p>In a micro-batch records are collected into batches ({@link Deferred}). In real time records
 * do not wait, except for answers of look-ups at the ingress ({@link PythonLookups}). Only for
 * streams, and only with stateless nodes downstream.
 */
final class PythonNode extends Node implements Deferred.Holding {
  private static final long serialVersionUID = 1L;

  private final PythonFunction function;
  private final Program arguments;
  private final Program values;
  private final boolean nulls;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;
  private transient Operands withResult;
  private transient UnsafeRowWriter result;
  private transient List<Waiting> waiting;

  /** Look-ups in real time at the ingress; null elsewhere. */
  private transient PythonLookups lookups;

  /** A waiting record with its arguments; null if the function is not called for it. */
  private record Waiting(
      NodeContext.Position place, int size, Change change, byte[] arguments) {}

  /**
   * @param arguments computes JSON as bytes
   * @param values computes the new value from the record and the result
   * @param nulls true if the function is called for records without a value
   */
  PythonNode(
      PythonFunction function,
      Program arguments,
      Program values,
      boolean nulls,
      int keyColumns,
      int valueColumns) {
    this.function = function;
    this.arguments = own(arguments);
    this.values = own(values);
    this.nulls = nulls;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
    withResult = new Operands(keyColumns, valueColumns, 1, scope);
    result = new UnsafeRowWriter(1);
    waiting = new ArrayList<>();
    if (scope.deferred == null) {
      scope.deferred = new Deferred(scope);
    }
    scope.deferred.join(this);
    if (scope.isPolled && scope.realTime && function.lookups() > 0) {
      lookups = new PythonLookups(function);
      scope.deferred.markPolled();
    }
  }

  @Override
  public void close() {
    super.close();
    if (lookups != null) {
      lookups.close();
      scope.deferred.close();
    }
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    byte[] given =
        change.value == null && !nulls
            ? null
            : arguments.bytes(operands.of(change.key, change.value, null, change.ts));
    Change kept =
        new Change()
            .set(
                change.key == null ? null : change.key.copy(),
                change.value == null ? null : change.value.copy(),
                null,
                change);
    kept.nullWithResults = change.nullWithResults;
    int size =
        (given == null ? 0 : given.length)
            + (kept.value == null ? 0 : kept.value.getSizeInBytes());
    waiting.add(new Waiting(scope.position(size), size, kept, given));
    if (lookups != null && given != null) {
      lookups.ask(given);
    }
  }

  /** Returns true if the limit of concurrent look-ups is reached. */
  @Override
  public boolean isFull() {
    return lookups != null && lookups.isFull();
  }

  /** Returns true if the first waiting record can proceed. */
  @Override
  public boolean isAnswered() {
    return !waiting.isEmpty() && isAnswered(waiting.get(0));
  }

  private boolean isAnswered(Waiting one) {
    return lookups == null || one.arguments == null || lookups.isAnswered();
  }

  /** Returns the number of the first record that waits here; the greatest number if none does. */
  @Override
  public int oldest() {
    int oldest = Integer.MAX_VALUE;
    for (Waiting one : waiting) {
      oldest = Math.min(oldest, one.place.turn()[0]);
    }
    return oldest;
  }

  /**
   * Forwards those at the head that have their answers; if {@code waits} is true, at least one.
   *
   * @return true if one was forwarded
   */
  @Override
  public boolean advance(boolean waits) {
    if (lookups == null) {
      boolean any = !waiting.isEmpty();
      waiting.forEach(one -> scope.deferred.stopWaiting(one.size));
      flush();
      return any;
    }
    int count = 0;
    while (count < waiting.size() && (waits && count == 0 || isAnswered(waiting.get(count)))) {
      Waiting one = waiting.get(count++);
      scope.deferred.stopWaiting(one.size);
      scope.resume(one.place);
      resume(one.change, one.arguments == null ? null : lookups.take());
    }
    waiting.subList(0, count).clear();
    return count > 0;
  }

  /** Calls the function with all waiting records, and forwards them. */
  @Override
  public void flush() {
    if (lookups != null) {
      while (advance(true)) {
        // Waits for each answer.
      }
      return;
    }
    if (waiting.isEmpty()) {
      return;
    }
    List<Waiting> taken = waiting;
    waiting = new ArrayList<>();
    List<byte[]> rows = new ArrayList<>(taken.size());
    for (Waiting one : taken) {
      if (one.arguments != null) {
        rows.add(one.arguments);
      }
    }
    Iterator<PythonWorkers.Answer> answers =
        (rows.isEmpty() ? List.<PythonWorkers.Answer>of() : PythonWorkers.call(function, rows))
            .iterator();
    for (Waiting one : taken) {
      scope.resume(one.place);
      resume(one.change, one.arguments == null ? null : answers.next());
    }
  }

  /** @param answer null if the function was not called */
  private void resume(Change change, PythonWorkers.Answer answer) {
    if (answer == null) {
      forward(out.set(change.key, null, null, change));
      return;
    }
    if (answer.error() != null) {
      scope.failed(this, change, new RecordException(new CallFailedException(answer.error())));
      return;
    }
    if (answer.note() != null) {
      scope.noted(name(), answer.note());
    }
    UnsafeRow value;
    try {
      value =
          values.apply(withResult.of(change.key, change.value, row(answer.result()), change.ts));
    } catch (RecordException e) {
      scope.failed(this, change, e);
      return;
    }
    out.set(change.key, value, null, change);
    out.nullWithResults = change.nullWithResults || change.value == null;
    forward(out);
  }

  private UnsafeRow row(byte[] bytes) {
    result.reset();
    result.zeroOutNullBytes();
    result.write(0, bytes);
    return result.getRow();
  }
}
