package org.duolog.kernel;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * When tasks of an application want to be told what time it is, as no record tells them.
 *
 * <p>A task that is never idle, or has no window open, wants nothing: then no tick is made, and no micro-batch runs. Tasks and
 * the stream of ticks ({@link TickSource}) are in one JVM. Threads: any.
 */
final class IdleTicks {
  static final String TOPIC = "__ticks";
  private static final Map<String, IdleTicks> BY_APPLICATION = new ConcurrentHashMap<>();
  private static final int TICKS_PER_TIMEOUT = 4;

  private final Map<String, Long> wanted = new ConcurrentHashMap<>();

  private IdleTicks() {}

  static IdleTicks of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new IdleTicks());
  }

  /** What an application's tasks wanted means nothing any more. */
  static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }

  /** How far ticks are apart at least, for a timeout. */
  static long pauseMs(long idleMs) {
    return Math.max(1, idleMs / TICKS_PER_TIMEOUT);
  }

  /** A task wants a tick at a time, or none ({@code Long.MAX_VALUE}). */
  synchronized void want(String task, long atMs) {
    if (atMs == Long.MAX_VALUE) {
      wanted.remove(task);
    } else {
      wanted.put(task, atMs);
    }
    notifyAll();
  }

  /** Forgets what tasks wanted that are to begin again: the first tick asks them. */
  synchronized void forget() {
    wanted.clear();
    wanted.put("", 0L);
  }

  /** A tick is made: it is for all. */
  synchronized void made() {
    wanted.remove("");
  }

  /** When the next tick is wanted; {@code Long.MAX_VALUE}: never. */
  synchronized long next() {
    return wanted.values().stream().mapToLong(Long::longValue).min().orElse(Long.MAX_VALUE);
  }

  /** Waits until a tick is wanted, at most until a time; returns whether one is. */
  synchronized boolean await(long untilMs) throws InterruptedException {
    long now = System.currentTimeMillis();
    for (; now < untilMs && now < next(); now = System.currentTimeMillis()) {
      wait(Math.max(1, Math.min(untilMs, next()) - now));
    }
    return now >= next();
  }
}
