package org.duolog.kernel.spec;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Determines when windows close and in which buckets their rows are stored; used by
 * {@code WindowRows}.
 */
public interface Closing extends Serializable {
  /** The types of a window's start and end. */
  List<String> BOUNDS = List.of("BIGINT", "BIGINT");

  /** Returns the key types of a window's results: those of the record, and the bounds. */
  static List<String> keyTypes(Operator of) {
    List<String> types = new ArrayList<>(of.keyTypes());
    types.addAll(BOUNDS);
    return types;
  }

  /** A window has closed if its end is at or before stream time minus this delay. */
  long delayMs();

  /**
   * Returns the time at or before which windows must end for their rows to be dropped. Rows may be
   * kept longer than their windows are open, for look-ups, but never shorter.
   */
  default long expiredUntil(long streamTime) {
    return streamTime - delayMs();
  }

  /** Returns true if rows are bucketed by the window's end, false if by its start. */
  boolean bucketsByEnd();

  /**
   * Returns the length of a bucket. It is part of the checkpoint format, so it must not depend on
   * the grace period.
   */
  long bucketMs();

  /** Returns a time before which no window of a bucket with this first millisecond ends. */
  default long firstEnd(long firstMs) {
    return firstMs;
  }

  /** Returns the latest end of a window in a bucket with this last millisecond. */
  long lastEnd(long lastMs);
}
