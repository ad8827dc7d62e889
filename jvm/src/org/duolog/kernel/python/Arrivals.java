package org.duolog.kernel.python;

import java.util.Collection;
import java.util.concurrent.TimeUnit;

/** Waits for items that tasks queue for the process that started this JVM. */
final class Arrivals {
  private Arrivals() {}

  /**
   * Waits until an item has arrived, the time is over, or the thread is interrupted, whose
   * interrupt flag it keeps.
   *
   * @param owner the object whose monitor the caller holds, and which is notified of new items
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
