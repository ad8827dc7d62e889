package org.duolog.kernel.python;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Look-ups of a node in real time: many are under way, and their answers come in the order in which they were asked for.
 *
 * <p>It has a process of its own while some are. Where that is lost, those without an answer are asked again, one by one.
 * Threads: not shared.
 */
public final class PythonLookups {
  private final PythonFunction function;
  private final ArrayDeque<byte[]> asked = new ArrayDeque<>();
  private final ArrayDeque<PythonWorkers.Answer> found = new ArrayDeque<>();
  private PythonWorker worker;

  public PythonLookups(PythonFunction function) {
    this.function = function;
  }

  public void ask(byte[] row) {
    if (worker == null) {
      worker = PythonWorkers.take(function.command());
    }
    asked.add(row);
    try {
      worker.ask(function, List.of(row));
    } catch (PythonWorker.Lost lost) {
      again();
    }
  }

  /** Whether there are as many as may be; or the process is to answer those that it has, and then to be made anew. */
  public boolean isFull() {
    boolean isWorn = worker != null && worker.isWorn() && !asked.isEmpty();
    return isWorn || asked.size() >= function.lookups();
  }

  /** Whether {@link #take} would not wait. */
  public boolean isAnswered() {
    return !found.isEmpty() || worker != null && worker.hasAnswer();
  }

  /** The next answer. */
  public PythonWorkers.Answer take() {
    if (found.isEmpty()) {
      try {
        found.add(worker.answer(function));
        asked.remove();
      } catch (PythonWorker.Lost lost) {
        again();
      }
    }
    if (asked.isEmpty() && worker != null) {
      PythonWorkers.give(function.command(), worker);
      worker = null;
    }
    return found.remove();
  }

  private void again() {
    worker.kill();
    worker = null;
    List<byte[]> rows = new ArrayList<>(asked);
    asked.clear();
    found.addAll(PythonWorkers.oneByOne(function, rows));
  }

  /** The task ends: whoever still looks something up does it for nobody. */
  public void close() {
    if (worker != null) {
      worker.kill();
      worker = null;
    }
  }
}
