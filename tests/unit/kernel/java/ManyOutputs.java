package org.duolog.kernel.topology;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.store.Newest;
import org.duolog.kernel.task.Node;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A record with deferred outputs in a level; without Spark.
 *
 * <p>Usage: OUTPUTS REAL_TIME. Prints how many outputs each of two records had, and how many waited at most.
 */
public final class ManyOutputs {
  public static void main(String[] args) {
    int outputs = Integer.parseInt(args[0]);
    boolean realTime = Boolean.parseBoolean(args[1]);
    Grouping grouping = new Grouping(2, 1, 1);
    Spec.Errors errors = 
        new Spec.Errors("log_and_fail", "log_and_fail", "log_and_fail", null, null, false, false);
    Spec spec =
        new Spec("t", 1, 1, realTime, false, false, 0, 0, List.of(), null, List.of(), List.of(), Map.of(), List.of(), List.of(), errors, null, null, null, null);
    Many many = new Many(outputs);
    SubTopology.Input input = new SubTopology.Input(0, 1, 1, false, false, many);
    SubTopology subtopology = new SubTopology(Map.of(0, input), List.of(many), List.of());
    ErrorHandlers handlers = new ErrorHandlers(spec);
    Level level = new Level("t", "t#", null, Map.of(0, subtopology), grouping, handlers, realTime, 0, null);

    int left = 0;
    int waited = 0;
    long task = grouping.of(0, 0);
    List<Envelope> records = List.of(many.envelope(0, 1), many.envelope(0, 2));
    for (int i = 0; i < (realTime ? 2 : 1); i++) {
      List<Envelope> given = realTime ? records.subList(i, i + 1) : records;
      Iterator<Envelope> found =
          level.handleInputRows(task, CollectionConverters.asScala(given.iterator()), null);
      while (found.hasNext()) {
        waited = Math.max(waited, many.waiting());
        found.next();
        left++;
      }
    }
    System.out.println(left / 2 + " " + waited);
  }

  /** Sends a number of records, one with each step. */
  private static final class Many extends Node {
    private static final long serialVersionUID = 1L;

    private final int outputs;
    private final UnsafeRow row = Newest.row();

    Many(int outputs) {
      this.outputs = outputs;
    }

    @Override
    public boolean needsOld() {
      return false;
    }

    @Override
    public void process(Change change) {
      AtomicInteger step = new AtomicInteger();
      long ts = change.ts;
      scope.later(
          () -> {
            boolean more = step.getAndIncrement() < outputs;
            if (more) {
              scope.emit(1, scope.taskOf(new byte[0], 1), true, envelope(1, ts));
            }
            return more;
          });
    }

    Envelope envelope(int edge, long ts) {
      return Envelope.toEdge(edge, row, row, null, new Change().set(row, row, null, ts, 0, null), null);
    }

    int waiting() {
      return scope.outputs.size();
    }
  }
}
