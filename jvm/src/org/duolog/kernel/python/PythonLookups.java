package org.duolog.kernel.python;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Look-ups of a node in real time: many are in progress, and answers are returned in the order of
 * the questions.
 *
 * <p>Has its own process while look-ups are in progress. If the process is lost, unanswered
 * questions are asked again, one by one. Threads: not shared.
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

  /**
   * Returns true if the limit is reached, or if the process must only finish its current look-ups
   * and then be replaced.
   */
  public boolean isFull() {
    boolean isWorn = worker != null && worker.isWorn() && !asked.isEmpty();
    return isWorn || asked.size() >= function.lookups();
  }

  /** Returns true if {@link #take} would not wait. */
  public boolean isAnswered() {
    return !found.isEmpty() || worker != null && worker.hasAnswer();
  }

  /** Returns the next answer. */
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

  /** Ends the look-ups with the task; their answers are no longer needed. */
  public void close() {
    if (worker != null) {
      worker.kill();
      worker = null;
    }
  }
}
