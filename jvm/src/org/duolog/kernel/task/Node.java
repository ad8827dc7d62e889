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
 * A processor of a sub-topology: takes a change, hands changes to its children.
 *
 * <p>Built on the driver, opened on an executor for one micro-batch or epoch, and closed there.
 * Threads: one at a time.
 */
public abstract class Node implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Node[] NO_CHILDREN = {};

  private final List<Program> programs = new ArrayList<>();
  private Node[] children = NO_CHILDREN;
  private String name = "";

  /** The running task; set while open. */
  protected transient NodeContext scope;

  /** What it has done for the running task; of nobody until a task is told. */
  public transient NodeCounts counts;

  /** What this node hands on; one instance, filled again and again. */
  protected transient Change out;

  public abstract void process(Change change);

  /** Whether this node has a use for the old value of a table's change. */
  public abstract boolean needsOld();

  /** The store that this node fills; null for most. */
  public Store store() {
    return null;
  }

  /** The stores that this node fills. */
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

  /** What fails here: the processing of a record, but for a sink and an aggregate. */
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

  /** Lets open and close take care of a program; gives it back. */
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
   * Computes the new side of a table's change. Where it has no value the handler is told and the row
   * is null, as if deleted: what comes after takes back the row before it, and will not be told to
   * take back this one.
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
