package org.duolog.kernel.python;

import java.util.List;
import java.util.Map;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.spec.Spec;

/**
 * Calls functions in workers that COMMAND starts: one function that cannot be loaded, and one that can.
 *
 * <p>Prints the number of processes after each, and after idle ones have been ended.
 */
public final class WorkerProcessCounts {
  private WorkerProcessCounts() {}

  public static void main(String[] command) throws Exception {
    call(command, "cannot");
    System.out.println(left(0));
    call(command, "can");
    System.out.println(left(1));
    PythonWorkers.endIdle(0);
    System.out.println(left(0));
  }

  private static void call(String[] line, String body) {
    Spec.WorkerCommand command = new Spec.WorkerCommand(List.of(line), ".", Map.of());
    PythonFunction function =
        new PythonFunction(body, body, "run", body.getBytes(), command, 20_000, 0);
    try {
      PythonWorkers.call(function, List.of("{}".getBytes()));
    } catch (RecordFailedException failed) {
      System.out.println("failed");
    }
  }

  /** Waits for a number of processes; returns another number if it does not change for long. */
  private static long left(long wanted) throws InterruptedException {
    for (int look = 0; look < 50 && children() != wanted; look++) {
      Thread.sleep(100);
    }
    return children();
  }

  private static long children() {
    return ProcessHandle.current().children().filter(ProcessHandle::isAlive).count();
  }
}
