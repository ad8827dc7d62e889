package org.duolog.kernel.python;

import java.util.Collection;
import java.util.concurrent.TimeUnit;

/** Waiting for what tasks leave for the process that started this JVM. */
final class Arrivals {
  private Arrivals() {}

  /**
   * Waits until something has arrived, the time is over, or the thread is interrupted, which it then stays.
   *
   * @param owner whose monitor the caller holds, and who notifies it of what arrives
   */
  static void await(Object owner, Collection<?> arrived, long waitMs) {
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
    for (long left; arrived.isEmpty() && (left = until - System.nanoTime()) > 0; ) {
      try {
        TimeUnit.NANOSECONDS.timedWait(owner, left);
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }
}
