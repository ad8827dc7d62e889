package org.duolog.kernel;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Python processes that have the processors of tasks: each task finds its own again with the next micro-batch or epoch,
 * and what its processors had in them.
 *
 * <p>A process that nobody has used for some minutes ends, and so does one of another run of the same application.
 * Threads: any.
 */
public final class ProcessorWorkers {
  private static final Map<Session, PythonWorker> PARKED = new HashMap<>();

  /** A task of a run of an application: of one Spark query of it. */
  record Session(String applicationId, String run, String task) {
    private boolean replaces(Session other) {
      return applicationId.equals(other.applicationId)
          && task.equals(other.task)
          && !run.equals(other.run);
    }
  }

  private ProcessorWorkers() {}

  static {
    PythonWorkers.sweepFromNowOn();
  }

  /** The process of a task, or a new one; {@code anew}: a new one. */
  static PythonWorker take(Session session, PythonWorkers.Command command, boolean anew) {
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

  /** Ends the processes of an application, whose processors are closed. */
  public static void end(String applicationId) {
    synchronized (PARKED) {
      endWhere(session -> session.applicationId.equals(applicationId));
    }
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
