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
 * Python processes that hold the processors of tasks. In the next micro-batch or epoch, each task
 * finds its process again, with the state of its processors in memory. If the task has run
 * elsewhere meanwhile, its processors are created again ({@link ProcessorTask}).
 *
 * <p>A process ends when it has been unused for some minutes, or when its run of the application
 * has ended. Executors in other JVMs ask the driver which runs have ended. Threads: any.
 */
public final class ProcessorWorkers {
  private static final Map<Session, PythonWorker> PARKED = new HashMap<>();

  /** The current run of each application, on the driver. */
  private static final Map<String, String> RUNS = new HashMap<>();

  /** A task in a run of an application, that is, of one Spark query. */
  public record Session(String applicationId, String run, String task) {
    private boolean replaces(Session other) {
      return applicationId.equals(other.applicationId)
          && task.equals(other.task)
          && !run.equals(other.run);
    }
  }

  /** Runs by name, with their applications: a question of executors. */
  record Waiting(HashMap<String, String> runs) implements Serializable {}

  private ProcessorWorkers() {}

  static {
    PythonWorkers.sweepFromNowOn();
  }

  /** Returns the process of a task, or a new one; always a new one if {@code anew} is true. */
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

  /** Keeps the process of a task until the task needs it again. */
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

  /** Ends processes that have been unused for this long. */
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

  /** Returns the name of a run of one Spark query. */
  public static String run(String run, String launch) {
    return launch == null ? run : run + " " + launch;
  }

  /** Makes this run the current one of an application. */
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

  /** Returns the runs that have idle processes in this JVM. */
  static Waiting waiting() {
    HashMap<String, String> runs = new HashMap<>();
    synchronized (PARKED) {
      PARKED.keySet().forEach(session -> runs.put(session.run, session.applicationId));
    }
    return new Waiting(runs);
  }

  /** Returns those of the runs that have ended, as the driver knows. */
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

  /** Ends the processes of runs that have ended. */
  static void endRuns(Set<?> over) {
    synchronized (PARKED) {
      endWhere(session -> over.contains(session.run));
    }
  }

  /** Ends all processes when this JVM ends, with a short time to close. */
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
