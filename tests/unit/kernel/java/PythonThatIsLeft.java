package org.duolog.kernel.python;

import java.util.List;
import java.util.Map;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.spec.Spec;

/**
 * Calls functions by workers that the words of COMMAND start: one that cannot be loaded, and one that can.
 *
 * <p>Prints how many processes there are behind each, and once those that are idle were ended.
 */
public final class PythonThatIsLeft {
  private PythonThatIsLeft() {}

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

  /** The number of processes, once it is this one or has been another for long. */
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
