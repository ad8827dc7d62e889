package org.duolog.kernel.kafka;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock;
import org.apache.spark.util.Clock;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The clock by which Spark ends a real-time epoch; for each reading task it starts when the task
 * starts.
 *
 * <pre>
 *   Spark:  plans epoch N at 12:00:00.0, a task reads until 12:00:01.0, and it starts at
 *           12:00:01.2: it reads nothing
 *   here:   its clock says 12:00:00.0 when it starts, so that it reads for a second
 * </pre>
 *
 * <p>Spark computes the end of an epoch once, on the driver, before it submits the tasks. If the
 * machine is so busy that tasks always start later than that, no epoch reads anything: the query
 * runs but never commits. The same happens on a cluster if the executors' clocks are ahead by more
 * than an epoch.
 *
 * <p>Threads: any; the delay is that of the calling thread.
 */
final class EpochClock implements Clock {
  private static final ThreadLocal<Long> DELAY_MS = new ThreadLocal<>();

  static {
    LowLatencyClock.setClock(new EpochClock());
  }

  private final Clock system = new SystemClock();

  private EpochClock() {}

  /** Returns the time of this thread's clock. */
  static long timeMs() {
    return LowLatencyClock.getTimeMillis();
  }

  /**
   * Sets the clock of a task back to the time when its epoch was planned, until the task ends; has
   * no effect for further readers of the task.
   */
  static void start(TaskContext task, long plannedAtMs) {
    if (DELAY_MS.get() == null) {
      DELAY_MS.set(System.currentTimeMillis() - plannedAtMs);
      task.addTaskCompletionListener((TaskCompletionListener) ended -> DELAY_MS.remove());
    }
  }

  @Override
  public long getTimeMillis() {
    Long delayMs = DELAY_MS.get();
    return delayMs == null ? system.getTimeMillis() : system.getTimeMillis() - delayMs;
  }

  @Override
  public long nanoTime() {
    return system.nanoTime();
  }

  @Override
  public long waitTillTime(long targetMs) {
    Long delayMs = DELAY_MS.get();
    return system.waitTillTime(delayMs == null ? targetMs : targetMs + delayMs);
  }
}
