package org.duolog.kernel.functions;

import java.util.function.Supplier;

/**
 * Where a {@link Multiset} that has outgrown its row keeps the rest: by slot and number.
 *
 * <p>A step of an aggregate is an expression, which knows no store. So whoever computes it says around
 * it where its pages are. An expression may be computed twice over: pages are never changed, but
 * written under a new number, and what was dropped is there until the step is kept.
 *
 * <p>Threads: each has its own.
 */
public interface Pages {
  ThreadLocal<Pages> AT_HAND = new ThreadLocal<>();

  /** The pages of the step that is computed; null where it has none, and a multiset stays whole. */
  static Pages atHand() {
    return AT_HAND.get();
  }

  /** Computes a step that has these pages. */
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
