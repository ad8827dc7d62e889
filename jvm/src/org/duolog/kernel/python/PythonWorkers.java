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
 * A pool of Python processes for users' functions: long-lived, one for each task that is currently
 * calling a function.
 *
 * <p>If a worker ends or does not answer in time, its rows are given to another worker one by one,
 * and the row that ends that one too is reported. So a function may be called twice with a record.
 * Threads: any.
 */
public final class PythonWorkers {
  static final long STARTS_WITHIN_MS = 60_000;
  private static final long IDLE_MS = 300_000;
  private static final long SWEEPS_EVERY_MS = 60_000;
  private static final Map<Spec.WorkerCommand, Deque<PythonWorker>> IDLE = new HashMap<>();

  /**
   * The result of a function for a row as JSON, or an error.
   *
   * @param note the reason for a null result, if it is to be reported while the record continues
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

  /** A task was stopped while it waits. Not an exception, as those are attributed to the record. */
  static final class Stopped extends Error {
    private static final long serialVersionUID = 1L;

    Stopped(InterruptedException cause) {
      super("interrupted while a function is called", cause);
    }
  }

  private PythonWorkers() {}

  /** Returns an answer for each row, in order. */
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
      // The pool does not know it, so nothing else would end it.
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

  /**
   * Ends workers that have been unused for long; after the last query has ended none is returned to
   * the pool.
   */
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

  /**
   * Starts the sweeping for callers that keep workers elsewhere: it begins when this class is first
   * used.
   */
  static void sweepFromNowOn() {}

  static {
    Thread sweeping = new Thread(PythonWorkers::sweep, "duolog-python-idle");
    sweeping.setDaemon(true);
    sweeping.start();
  }
}
