package org.duolog.kernel.python;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.duolog.kernel.spec.Spec;

/**
 * Python processes for functions of users: long-lived, one for each task that calls one at the moment.
 *
 * <p>A worker that ends, or does not answer in time, takes no other record with it: those it had are given to another
 * one by one, and the one that does it again is told of. So a function may be called twice with a record. Threads: any.
 */
public final class PythonWorkers {
  static final long STARTS_WITHIN_MS = 60_000;
  private static final long IDLE_MS = 300_000;
  private static final long SWEEPS_EVERY_MS = 60_000;
  private static final Map<Spec.WorkerCommand, Deque<PythonWorker>> IDLE = new HashMap<>();

  /**
   * What a function gave for a row, as JSON; or what is wrong.
   *
   * @param note why the result is null, where that is to be told and the record goes on
   */
  public record Answer(byte[] result, String error, String note) {
    private static final byte[] NULL = "{\"r\":null}".getBytes(StandardCharsets.UTF_8);

    public Answer(byte[] result, String error) {
      this(result, error, null);
    }

    static Answer nullFor(String note) {
      return new Answer(NULL, null, note);
    }
  }

  /** A task is stopped while it waits: no fault of its record, as an exception would be. */
  static final class Stopped extends Error {
    private static final long serialVersionUID = 1L;

    Stopped(InterruptedException cause) {
      super("stopped while a function is called", cause);
    }
  }

  private PythonWorkers() {}

  /** An answer for each row, in their order. */
  public static List<Answer> call(PythonFunction function, List<byte[]> rows) {
    PythonWorker worker = take(function.command());
    try {
      List<Answer> answers = worker.call(function, rows);
      give(function.command(), worker);
      return answers;
    } catch (PythonWorker.Lost lost) {
      return rows.size() == 1
          ? List.of(failed(function, lost))
          : oneByOne(function, rows);
    } catch (RuntimeException | Error failed) {
      // Nobody would find it again: neither idle nor at an end.
      worker.kill();
      throw failed;
    }
  }

  /** Finds the rows that a worker does not survive. */
  static List<Answer> oneByOne(PythonFunction function, List<byte[]> rows) {
    List<Answer> answers = new ArrayList<>(rows.size());
    for (byte[] row : rows) {
      answers.add(call(function, List.of(row)).get(0));
    }
    return answers;
  }

  static Answer failed(PythonFunction function, PythonWorker.Lost lost) {
    String what =
        lost.getMessage() == null
            ? "it has not returned within " + function.timeoutMs() + " ms"
            : lost.getMessage();
    return new Answer(null, function.name() + ": " + what);
  }

  static PythonWorker take(Spec.WorkerCommand command) {
    synchronized (IDLE) {
      Deque<PythonWorker> idle = IDLE.computeIfAbsent(command, unused -> new ArrayDeque<>());
      for (PythonWorker worker; (worker = idle.poll()) != null; ) {
        if (worker.isAlive()) {
          return worker;
        }
      }
    }
    return new PythonWorker(command);
  }

  static void give(Spec.WorkerCommand command, PythonWorker worker) {
    if (worker.isWorn()) {
      worker.kill();
      return;
    }
    worker.idle();
    synchronized (IDLE) {
      IDLE.get(command).push(worker);
    }
  }

  /** Ends those that nobody has used for long: behind the end of the last query nobody gives one back. */
  private static void sweep() {
    while (true) {
      try {
        Thread.sleep(SWEEPS_EVERY_MS);
      } catch (InterruptedException e) {
        return;
      }
      endIdle(IDLE_MS);
      ProcessorWorkers.endIdle(IDLE_MS);
    }
  }

  static void endIdle(long forMs) {
    synchronized (IDLE) {
      for (Deque<PythonWorker> idle : IDLE.values()) {
        while (!idle.isEmpty() && idle.peekLast().idleMs() >= forMs) {
          idle.pollLast().kill();
        }
      }
    }
  }

  /** For who keeps workers elsewhere: this class begins to sweep when it is first used. */
  static void sweepFromNowOn() {}

  static {
    Thread sweeping = new Thread(PythonWorkers::sweep, "duolog-python-idle");
    sweeping.setDaemon(true);
    sweeping.start();
  }
}
