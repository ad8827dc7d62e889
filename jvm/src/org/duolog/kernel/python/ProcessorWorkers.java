package org.duolog.kernel.python;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.duolog.kernel.spec.Spec;

/**
 * Python processes that have the processors of tasks: each task finds its own again with the next micro-batch or epoch,
 * and what its processors had in them: where the task has been elsewhere meanwhile, they are made anew there ({@link ProcessorTask}).
 *
 * <p>A process that nobody has used for some minutes ends, and so does one of another run of the same application. Executors of
 * other JVMs ask the driver which runs are over.
 * Threads: any.
 */
public final class ProcessorWorkers {
  private static final Map<Session, PythonWorker> PARKED = new HashMap<>();

  /** The run that each application is in, on the driver. */
  private static final Map<String, String> RUNS = new HashMap<>();

  /** A task of a run of an application: of one Spark query of it. */
  public record Session(String applicationId, String run, String task) {
    private boolean replaces(Session other) {
      return applicationId.equals(other.applicationId)
          && task.equals(other.task)
          && !run.equals(other.run);
    }
  }

  /** Runs by their names, and the applications that they are of: what executors ask for. */
  record Waiting(HashMap<String, String> runs) implements Serializable {}

  private ProcessorWorkers() {}

  static {
    PythonWorkers.sweepFromNowOn();
  }

  /** The process of a task, or a new one; {@code anew}: a new one. */
  static PythonWorker take(Session session, Spec.WorkerCommand command, boolean anew) {
    synchronized (PARKED) {
      endWhere(other -> session.replaces(other) || anew && session.equals(other));
      PythonWorker worker = PARKED.remove(session);
      if (worker != null && worker.isAlive()) {
        return worker;
      }
    }
    return new PythonWorker(command);
  }

  /** Keeps the process of a task until that needs it again. */
  static void give(Session session, PythonWorker worker) {
    if (!worker.isAlive()) {
      return;
    }
    worker.idle();
    synchronized (PARKED) {
      PythonWorker other = PARKED.put(session, worker);
      if (other != null) {
        other.end();
      }
    }
  }

  /** Ends those that nobody has used for so long. */
  static void endIdle(long forMs) {
    synchronized (PARKED) {
      Iterator<PythonWorker> workers = PARKED.values().iterator();
      while (workers.hasNext()) {
        PythonWorker parked = workers.next();
        if (parked.idleMs() >= forMs) {
          parked.end();
          workers.remove();
        }
      }
    }
  }

  /** The name of a run, of one Spark query. */
  public static String run(String run, String launch) {
    return launch == null ? run : run + " " + launch;
  }

  /** From here on an application is in this run. */
  public static void begin(String applicationId, String run) {
    synchronized (PARKED) {
      RUNS.put(applicationId, run);
    }
  }

  /** Ends the processes of an application, whose processors are closed. */
  public static void end(String applicationId) {
    synchronized (PARKED) {
      RUNS.remove(applicationId);
      endWhere(session -> session.applicationId.equals(applicationId));
    }
  }

  /** The runs that have processes in this JVM which wait for their tasks. */
  static Waiting waiting() {
    HashMap<String, String> runs = new HashMap<>();
    synchronized (PARKED) {
      PARKED.keySet().forEach(session -> runs.put(session.run, session.applicationId));
    }
    return new Waiting(runs);
  }

  /** Which of them are over, as the driver knows. */
  static HashSet<String> over(Waiting waiting) {
    HashSet<String> over = new HashSet<>();
    synchronized (PARKED) {
      waiting.runs.forEach(
          (run, applicationId) -> {
            if (!run.equals(RUNS.get(applicationId))) {
              over.add(run);
            }
          });
    }
    return over;
  }

  /** Ends the processes of runs that are over. */
  static void endRuns(Set<?> over) {
    synchronized (PARKED) {
      endWhere(session -> over.contains(session.run));
    }
  }

  /** Ends all, as this JVM does, and leaves them a moment for it. */
  static void endAll() {
    List<PythonWorker> all;
    synchronized (PARKED) {
      all = new ArrayList<>(PARKED.values());
      endWhere(session -> true);
    }
    all.forEach(PythonWorker::awaitEnd);
  }

  private static void endWhere(java.util.function.Predicate<Session> which) {
    Iterator<Map.Entry<Session, PythonWorker>> parked = PARKED.entrySet().iterator();
    while (parked.hasNext()) {
      Map.Entry<Session, PythonWorker> one = parked.next();
      if (which.test(one.getKey())) {
        one.getValue().end();
        parked.remove();
      }
    }
  }
}
