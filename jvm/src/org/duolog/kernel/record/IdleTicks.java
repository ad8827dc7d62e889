package org.duolog.kernel.record;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.PluginContext;

/**
 * Collects the times at which tasks of an application need a tick of the wall clock, because no
 * record advances time.
 *
 * <p>A task that is never idle, or has no open window, needs no tick: then none is made, and no
 * micro-batch runs. The requests of all tasks are kept on the driver, whose clock makes the ticks
 * ({@code TickSource}). A tick fulfils all requests up to its time. It is sent to every task, and
 * each task then requests its next one.
 *
 * <p>Requests of tasks in other JVMs arrive as messages ({@code MetricsPlugin}). Spark delivers an
 * executor's messages to the driver in order, so a task's request arrives before the end of that
 * task, even if the executor goes away. Two threads of the driver handle them, so a commit may
 * become visible a moment before the request; the next query finds it. If a task has run again, or
 * still runs after its query has ended, only the newest run counts.
 *
 * <p>Threads: any.
 */
public final class IdleTicks {
  public static final String TOPIC = "__ticks";
  public static final long NONE = -1;
  private static final Map<String, IdleTicks> BY_APPLICATION = new ConcurrentHashMap<>();
  private static final Map<String, Request> SENT = new ConcurrentHashMap<>();
  private static final int TICKS_PER_TIMEOUT = 4;

  /** The interval at which a tick source in another JVM asks the driver for ticks. */
  private static final long ASKS_EVERY_MS = 50;

  /** The connection to the driver; null in the driver's own JVM. */
  private static volatile PluginContext driver;

  /** Counts starts over all queries, so that no number is used twice. */
  private static final AtomicLong STARTS = new AtomicLong();

  private final Map<String, Request> wishes = new HashMap<>();
  private boolean asksAll;
  private long start;

  /**
   * The time at which a run of a task needs a tick; {@code Long.MAX_VALUE} for never. A later run
   * has a greater number.
   */
  record Request(long run, long atMs) implements Serializable {}

  /** A request on its way to the driver. */
  public record TaskRequest(String applicationId, String task, Request wish)
      implements Serializable {}

  /**
   * A question of a real-time tick source: is there a tick after the last one? The answer is its
   * time, or {@link #NONE}.
   *
   * @param start the number of the start that created the tick source ({@link #forget}); a source
   *     left over from an earlier start gets no ticks, as nothing reads from it
   */
  public record Due(String applicationId, long start, long lastMs) implements Serializable {}

  private IdleTicks() {}

  public static IdleTicks of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new IdleTicks());
  }

  /** Discards all requests of an application's tasks. */
  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }

  /** Declares that this JVM is an executor, with its driver elsewhere. */
  public static void isElsewhere(PluginContext way) {
    driver = way;
  }

  /** Returns the minimum time between ticks for a timeout. */
  public static long pauseMs(long idleMs) {
    return Math.max(1, idleMs / TICKS_PER_TIMEOUT);
  }

  /** Requests a tick at a time for a task of this JVM, or none ({@code Long.MAX_VALUE}). */
  public static void want(String applicationId, String task, long atMs) {
    TaskContext context = TaskContext.get();
    Request wish = new Request(context == null ? 0 : context.taskAttemptId(), atMs);
    if (driver == null) {
      of(applicationId).take(task, wish);
    } else if (!wish.equals(SENT.put(applicationId + ' ' + task, wish))) {
      try {
        driver.send(new TaskRequest(applicationId, task, wish));
      } catch (IOException e) {
        // A request is never delivered if it cannot be sent; a retry of the task sends it again.
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Records the request of a task. */
  public static void take(TaskRequest wanted) {
    of(wanted.applicationId).take(wanted.task, wanted.wish);
  }

  private synchronized void take(String task, Request wish) {
    Request known = wishes.get(task);
    if (known == null || known.run <= wish.run) {
      wishes.put(task, wish);
      notifyAll();
    }
  }

  /**
   * Discards the requests of tasks that are about to start again: the first tick asks all of them.
   * Returns the number of this start.
   */
  public synchronized long forget() {
    wishes.clear();
    asksAll = true;
    start = STARTS.incrementAndGet();
    return start;
  }

  /** Makes a tick if one later than the last is due; returns its time, or {@link #NONE}. */
  public synchronized long make(long lastMs) {
    long now = System.currentTimeMillis();
    // A tick must be later than the last one.
    if (now <= lastMs || now < next()) {
      return NONE;
    }
    asksAll = false;
    wishes.replaceAll(
        (task, wish) -> wish.atMs <= now ? new Request(wish.run, Long.MAX_VALUE) : wish);
    return now;
  }

  /** Returns when the next tick is due; {@code Long.MAX_VALUE} for never. */
  private long next() {
    return asksAll
        ? 0
        : wishes.values().stream().mapToLong(Request::atMs).min().orElse(Long.MAX_VALUE);
  }

  /** Waits until a tick is due, or until {@code untilMs}; returns its time, or {@link #NONE}. */
  public static long await(Due due, long untilMs) throws InterruptedException {
    return driver == null
        ? of(due.applicationId).awaitHere(due, untilMs)
        : awaitElsewhere(due, untilMs);
  }

  private synchronized long awaitHere(Due due, long untilMs) throws InterruptedException {
    while (true) {
      long tick = make(due);
      long now = System.currentTimeMillis();
      if (tick != NONE || now >= untilMs) {
        return tick;
      }
      long next = due.start == start ? Math.max(next(), due.lastMs + 1) : untilMs;
      wait(Math.max(1, Math.min(untilMs, next) - now));
    }
  }

  private synchronized long make(Due due) {
    return due.start == start ? make(due.lastMs) : NONE;
  }

  private static long awaitElsewhere(Due due, long untilMs) throws InterruptedException {
    while (true) {
      long tick = askDriver(due);
      long left = untilMs - System.currentTimeMillis();
      if (tick != NONE || left <= 0) {
        return tick;
      }
      Thread.sleep(Math.min(left, ASKS_EVERY_MS));
    }
  }

  private static long askDriver(Due due) throws InterruptedException {
    try {
      return (Long) driver.ask(due);
    } catch (InterruptedException stopping) {
      throw stopping;
    } catch (Exception e) {
      throw new IllegalStateException("the driver does not send the time", e);
    }
  }

  /** Answers a question of another JVM. */
  public static long answer(Due due) {
    return of(due.applicationId).make(due);
  }
}
