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
 * When tasks of an application want to be told what time it is, as no record tells them.
 *
 * <p>A task that is never idle, or has no window open, wants nothing: then no tick is made, and no micro-batch runs. The wishes
 * of all tasks stand on the driver, whose clock makes the ticks ({@code TickSource}). A tick fulfils what was wanted up to its time: it
 * goes to every task, and each says anew what it wants.
 *
 * <p>What tasks of other JVMs want comes as messages ({@code MetricsPlugin}). Spark brings an executor's messages to the driver in
 * their order, and so a task's wish before the end of that task, though the executor goes then. There a thread takes the one and another thread the
 * other: what is committed may be wanted a moment later, and the next question finds it. Of a task that has run again, or
 * runs on behind its query, the newest run alone has a say.
 *
 * <p>Threads: any.
 */
public final class IdleTicks {
  public static final String TOPIC = "__ticks";
  public static final long NONE = -1;
  private static final Map<String, IdleTicks> BY_APPLICATION = new ConcurrentHashMap<>();
  private static final Map<String, Wish> SENT = new ConcurrentHashMap<>();
  private static final int TICKS_PER_TIMEOUT = 4;

  /** How often who makes ticks in another JVM asks for them. */
  private static final long ASKS_EVERY_MS = 50;

  /** The way to the driver; null in its own JVM. */
  private static volatile PluginContext driver;

  /** Over all queries: a number of an earlier one is none of a later one's. */
  private static final AtomicLong STARTS = new AtomicLong();

  private final Map<String, Wish> wishes = new HashMap<>();
  private boolean asksAll;
  private long start;

  /** When a run of a task wants a tick; {@code Long.MAX_VALUE}: never. Of two runs the later one has the greater number. */
  record Wish(long run, long atMs) implements Serializable {}

  /** A wish on its way to the driver. */
  public record Wanted(String applicationId, String task, Wish wish) implements Serializable {}

  /**
   * A question of who makes ticks in real time: whether one is to be made behind the last one. The answer is its time, or {@link
   * #NONE}.
   *
   * @param start which start has made who asks ({@link #forget}): one that is left of an earlier one gets no tick, as nobody listens
   *     to it
   */
  public record Due(String applicationId, long start, long lastMs) implements Serializable {}

  private IdleTicks() {}

  public static IdleTicks of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new IdleTicks());
  }

  /** What an application's tasks wanted means nothing any more. */
  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }

  /** This JVM is an executor's, and its driver is there. */
  public static void isElsewhere(PluginContext way) {
    driver = way;
  }

  /** How far ticks are apart at least, for a timeout. */
  public static long pauseMs(long idleMs) {
    return Math.max(1, idleMs / TICKS_PER_TIMEOUT);
  }

  /** A task of this JVM wants a tick at a time, or none ({@code Long.MAX_VALUE}). */
  public static void want(String applicationId, String task, long atMs) {
    TaskContext context = TaskContext.get();
    Wish wish = new Wish(context == null ? 0 : context.taskAttemptId(), atMs);
    if (driver == null) {
      of(applicationId).take(task, wish);
    } else if (!wish.equals(SENT.put(applicationId + ' ' + task, wish))) {
      try {
        driver.send(new Wanted(applicationId, task, wish));
      } catch (IOException e) {
        // What is not known there is never told: another run of the task may say it.
        throw new UncheckedIOException(e);
      }
    }
  }

  /** A task has told what it wants. */
  public static void take(Wanted wanted) {
    of(wanted.applicationId).take(wanted.task, wanted.wish);
  }

  private synchronized void take(String task, Wish wish) {
    Wish known = wishes.get(task);
    if (known == null || known.run <= wish.run) {
      wishes.put(task, wish);
      notifyAll();
    }
  }

  /** Forgets what tasks wanted that are to begin again: the first tick asks them. Returns the number of this start. */
  public synchronized long forget() {
    wishes.clear();
    asksAll = true;
    start = STARTS.incrementAndGet();
    return start;
  }

  /** Makes a tick if one is wanted by now that is later than the last one; its time, or {@link #NONE}. */
  public synchronized long make(long lastMs) {
    long now = System.currentTimeMillis();
    // One that is no later than the last is none.
    if (now <= lastMs || now < next()) {
      return NONE;
    }
    asksAll = false;
    wishes.replaceAll((task, wish) -> wish.atMs <= now ? new Wish(wish.run, Long.MAX_VALUE) : wish);
    return now;
  }

  /** When the next tick is wanted; {@code Long.MAX_VALUE}: never. */
  private long next() {
    return asksAll
        ? 0
        : wishes.values().stream().mapToLong(Wish::atMs).min().orElse(Long.MAX_VALUE);
  }

  /** Waits until a tick is made, at most until a time; its time, or {@link #NONE}. */
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
      throw new IllegalStateException("the driver does not tell what time it is", e);
    }
  }

  /** Answers a question of another JVM. */
  public static long answer(Due due) {
    return of(due.applicationId).make(due);
  }
}
