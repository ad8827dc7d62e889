package org.duolog.kernel.functions;

import java.util.function.Supplier;

/**
 * Stores the pages of a {@link Multiset} that has outgrown its row, by slot and number.
 *
 * <p>A step of an aggregate is an expression without access to a store, so the caller provides the
 * pages around it. An expression may be evaluated twice: pages are never changed, but written under
 * a new number, and dropped pages remain until the step is kept.
 *
 * <p>Threads: each has its own.
 */
public interface Pages {
  ThreadLocal<Pages> AT_HAND = new ThreadLocal<>();

  /** Returns the pages of the current step; null if it has none, and multisets stay in one leaf. */
  static Pages atHand() {
    return AT_HAND.get();
  }

  /** Evaluates a step with these pages. */
  static <T> T within(Pages pages, Supplier<T> step) {
    AT_HAND.set(pages);
    try {
      return step.get();
    } finally {
      AT_HAND.remove();
    }
  }

  byte[] page(int slot, long number);

  void write(int slot, long number, byte[] page);

  void drop(int slot, long number);
}
