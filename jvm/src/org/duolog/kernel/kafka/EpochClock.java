package org.duolog.kernel.kafka;

import org.apache.spark.TaskContext;
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock;
import org.apache.spark.util.Clock;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The clock by which Spark ends an epoch in real time: for each task that reads, it starts when the task starts.
 *
 * <pre>
 *   Spark:  plans epoch N at 12:00:00.0, a task reads until 12:00:01.0, and it starts at 12:00:01.2: it reads nothing
 *   here:   its clock says 12:00:00.0 when it starts, so that it reads for a second
 * </pre>
 *
 * <p>Spark computes the end of an epoch once, on the driver, before it submits the tasks. Where the machine is so busy
 * that tasks start later than that, no epoch reads anything: the query runs and commits nothing for good. So does one on
 * a cluster whose executors' clocks are ahead by more than an epoch.
 *
 * <p>Threads: any; the delay is that of the thread that asks.
 */
final class EpochClock implements Clock {
  private static final ThreadLocal<Long> DELAY_MS = new ThreadLocal<>();

  static {
    LowLatencyClock.setClock(new EpochClock());
  }

  private final Clock system = new SystemClock();

  private EpochClock() {}

  /** What the clock of this thread says. */
  static long timeMs() {
    return LowLatencyClock.getTimeMillis();
  }

  /**
   * Sets the clock of a task back to when its epoch was planned, until the task ends; does nothing for a further reader
   * of the task.
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
