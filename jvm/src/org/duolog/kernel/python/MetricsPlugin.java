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
 * What executors of other JVMs have to tell the driver, and to ask it.
 *
 * <pre>
 *   each second, as a task ends,
 *   and at their end                what has been counted; what functions in Python have printed there, which nobody would see
 *   each second                     whether runs are over whose processors wait there for the next micro-batch
 *   at once                         when tasks want to know the time ({@link IdleTicks}), and what time it is
 * </pre>
 *
 * <p>Answers are of Java's own classes: what reads them in an executor knows none that came with its jars, and takes one for
 * a broken connection, behind which the executor ends.
 *
 * <p>Accumulators come with the end of a task, which in real time is that of an epoch: a minute. In a JVM that is driver
 * and executor at once there is nothing to bring.
 *
 * <p>An executor that is killed has told of all but its last second. Threads: Spark's, and one of each executor.
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

  /** All that an executor has counted in a run, as {@link Metrics} tells it. */
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
      } else if (message instanceof IdleTicks.Wanted wanted) {
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
      // Of a local master it has the driver's own name.
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
     * Ahead of what Spark tells of its end: whoever sees that a micro-batch is done finds its counts too, as a rule.
     *
     * <p>One that finds another one waiting to tell leaves it to that: a micro-batch is not done before either.
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
        LOGGER.debug("cannot ask the driver which runs are over", e);
      }
    }

    /**
     * Nothing that goes wrong here may end the thread: the next report has all that this one had.
     *
     * @param asks which runs are over, and waits for the answer: no task does
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
        LOGGER.debug("cannot bring the driver what was printed", e);
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
      } catch (Exception e) { // Asking may end with whatever the driver has thrown.
        LOGGER.debug("cannot tell the driver what was counted", e);
      }
    }
  }
}
