package org.duolog.kernel.python;

import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.record.IdleTicks;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends reports of executors in other JVMs to the driver, and their questions.
 *
 * <pre>
 *   each second, as a task ends,
 *   and at their end              counts, and lines printed by Python functions there, which no
 *                                 person would see
 *   each second                   a question: have the runs ended whose processors wait for the
 *                                 next micro-batch?
 *   at once                       the times at which tasks need ticks ({@link IdleTicks}), and
 *                                 questions for the time
 * </pre>
 *
 * <p>Answers consist of Java's own classes: the thread that reads them in an executor does not know
 * classes from the executor's jars. It takes an unknown class for a broken connection, and the
 * executor ends.
 *
 * <p>Accumulators arrive at the end of a task, which in real time is the end of an epoch: a minute.
 * A JVM that is driver and executor at once has nothing to send.
 *
 * <p>An executor that is killed loses at most the counts of its last second. Threads: Spark's, and
 * one of each executor.
 */
public final class MetricsPlugin implements SparkPlugin {
  private static final Logger LOGGER = LoggerFactory.getLogger(MetricsPlugin.class);
  private static final long PERIOD_MS = 1000;
  private static final String DRIVER = "driver";

  @Override
  public DriverPlugin driverPlugin() {
    return new OfDriver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new OfExecutor();
  }

  /** All counts of an executor in a run, as {@link Metrics} renders them. */
  record Report(String executor, String run, String counted) implements Serializable {}

  private static final class OfDriver implements DriverPlugin {
    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      return Map.of();
    }

    @Override
    public Object receive(Object message) {
      if (message instanceof IdleTicks.Due due) {
        return IdleTicks.answer(due);
      } else if (message instanceof ProcessorWorkers.Waiting waiting) {
        return ProcessorWorkers.over(waiting);
      } else if (message instanceof Report report) {
        return Metrics.take(report.executor(), report.run(), report.counted());
      } else if (message instanceof PythonOutput.Printed printed) {
        PythonOutput.add(printed);
      } else if (message instanceof IdleTicks.TaskRequest wanted) {
        IdleTicks.take(wanted);
      }
      return null;
    }
  }

  private static final class OfExecutor implements ExecutorPlugin {
    private final Map<String, String> told = new HashMap<>();
    private final AtomicBoolean isWaiting = new AtomicBoolean();
    private PluginContext context;
    private ScheduledExecutorService thread;

    @Override
    public void init(PluginContext plugin, Map<String, String> extra) {
      // An executor of a local master has the name of the driver.
      if (DRIVER.equals(plugin.executorID())) {
        return;
      }
      context = plugin;
      IdleTicks.isElsewhere(plugin);
      thread =
          Executors.newSingleThreadScheduledExecutor(
              work -> {
                Thread daemon = new Thread(work, "duolog-metrics");
                daemon.setDaemon(true);
                return daemon;
              });
      thread.scheduleWithFixedDelay(this::look, PERIOD_MS, PERIOD_MS, TimeUnit.MILLISECONDS);
    }

    /**
     * Sends a report before Spark reports the end of the task, so that the counts of a finished
     * micro-batch are usually there.
     *
     * <p>If another thread is waiting to send, this one leaves it to that thread: the micro-batch
     * ends after both.
     */
    @Override
    public void onTaskSucceeded() {
      if (thread != null && isWaiting.compareAndSet(false, true)) {
        tell(false);
      }
    }

    @Override
    public void shutdown() {
      if (thread != null) {
        thread.shutdownNow();
        ProcessorWorkers.endAll();
        tell(false);
      }
    }

    private void look() {
      tell(true);
      ProcessorWorkers.Waiting waiting = ProcessorWorkers.waiting();
      if (waiting.runs().isEmpty()) {
        return;
      }
      try {
        ProcessorWorkers.endRuns((Set<?>) context.ask(waiting));
      } catch (Exception e) {
        LOGGER.debug("cannot ask the driver which runs have ended", e);
      }
    }

    /**
     * An error must not end the thread: the next report contains everything that this one had.
     *
     * @param asks true to ask which runs have ended, and to wait for the answer; tasks do not ask
     */
    private synchronized void tell(boolean asks) {
      isWaiting.set(false);
      PythonOutput.Printed printed = PythonOutput.takeLines();
      try {
        if (!printed.isEmpty()) {
          context.send(printed);
        }
      } catch (IOException | RuntimeException e) {
        PythonOutput.add(printed);
        LOGGER.debug("cannot send printed lines to the driver", e);
      }
      try {
        for (Map.Entry<String, String> one : Metrics.ofThisJvm().entrySet()) {
          Report report = new Report(context.executorID(), one.getKey(), one.getValue());
          if (asks && Metrics.mayBeOver(report.run())) {
            if (Boolean.FALSE.equals(context.ask(report))) {
              Metrics.forget(report.run());
              told.remove(report.run());
            }
          } else if (!report.counted().equals(told.get(report.run()))) {
            context.send(report);
            told.put(report.run(), report.counted());
          }
        }
      } catch (Exception e) { // A question may end with whatever the driver has thrown.
        LOGGER.debug("cannot send counts to the driver", e);
      }
    }
  }
}
