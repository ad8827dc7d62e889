package org.duolog.kernel.task;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.metrics.NodeCounts;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.spec.Program;

/**
 * A processor of a sub-topology: takes a change and forwards changes to its children.
 *
 * <p>Created on the driver, opened on an executor for one micro-batch or epoch, and closed there.
 * Threads: one at a time.
 */
public abstract class Node implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Node[] NO_CHILDREN = {};

  private final List<Program> programs = new ArrayList<>();
  private Node[] children = NO_CHILDREN;
  private String name = "";

  /** The context of the running task; set while the node is open. */
  protected transient NodeContext scope;

  /** The counters of this node in the running task; not set until a task is selected. */
  public transient NodeCounts counts;

  /** The output of this node; one instance, refilled for each output. */
  protected transient Change out;

  public abstract void process(Change change);

  /** Returns true if this node uses the old value of a table's change. */
  public abstract boolean needsOld();

  /** The store that this node writes; null for most nodes. */
  public Store store() {
    return null;
  }

  /** The stores that this node writes. */
  public List<Store> stores() {
    Store own = store();
    return own == null ? List.of() : List.of(own);
  }

  public void open(NodeContext scope, int partition) {
    this.scope = scope;
    this.out = new Change();
    this.counts = new NodeCounts();
    for (Program program : programs) {
      program.open(partition);
    }
  }

  public void close() {
    for (Program program : programs) {
      program.close();
    }
  }

  /** The stage that reports errors of this node: processing, except for sinks and aggregates. */
  public ErrorHandlers.Stage stage() {
    return ErrorHandlers.Stage.PROCESSING;
  }

  public final String name() {
    return name;
  }

  public final void setName(String name) {
    this.name = name;
  }

  public final void setChildren(List<Node> nodes) {
    children = nodes.toArray(Node[]::new);
  }

  public final Node[] children() {
    return children;
  }

  /** Registers a program to be opened and closed with this node, and returns it. */
  protected final Program own(Program program) {
    programs.add(program);
    return program;
  }

  protected final void forward(Change change) {
    counts.forward();
    for (Node child : children) {
      scope.run(child, change);
    }
  }

  /**
   * Computes the new side of a table's change. If that fails, the error handler is called and the
   * row is null, as if deleted. Downstream nodes then retract the previous row, and no later change
   * asks them to retract this one.
   */
  protected final UnsafeRow applyToNew(Program program, InternalRow row, Change change) {
    try {
      return program.apply(row);
    } catch (RecordException e) {
      scope.failed(this, change, e);
      return null;
    }
  }

  protected final boolean childNeedsOld() {
    for (Node child : children) {
      if (child.needsOld()) {
        return true;
      }
    }
    return false;
  }
}
