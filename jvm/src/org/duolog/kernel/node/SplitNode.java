package org.duolog.kernel.node;

import java.util.Arrays;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Forwards each record to the branch of the first predicate that holds; the last branch is for all
 * others. For a null value the predicates read null columns.
 *
 * <p>Branches are distinguished only by the split: no edge leaves the split itself, each edge
 * leaves a branch.
 *
 * <p>Source: Kafka Streams KStreamBranch.
 */
final class SplitNode extends Node {
  private static final long serialVersionUID = 1L;
  private static final int NOBODY = -1;

  private final Program[] predicates;
  private final int[] childOf;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  /** @param branches the branch of each child, in the order of the children */
  SplitNode(Program[] predicates, int[] branches, int keyColumns, int valueColumns) {
    this.predicates = predicates;
    this.childOf = new int[predicates.length + 1];
    Arrays.fill(childOf, NOBODY);
    for (int child = 0; child < branches.length; child++) {
      childOf[branches[child]] = child;
    }
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    for (Program predicate : predicates) {
      own(predicate);
    }
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    int branch = 0;
    while (branch < predicates.length
        && !predicates[branch].test(operands.of(change.key, change.value, null, change.ts))) {
      branch++;
    }
    if (childOf[branch] != NOBODY) {
      counts.forward();
      scope.run(children()[childOf[branch]], change);
    }
  }
}
