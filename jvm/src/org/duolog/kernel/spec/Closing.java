package org.duolog.kernel.spec;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * When windows close, and how their rows lie in buckets: what {@code WindowRows} asks of a kind of
 * window.
 */
public interface Closing extends Serializable {
  /** The types of a window's start and end. */
  List<String> BOUNDS = List.of("BIGINT", "BIGINT");

  /** The key of a window's results: the record's, and the bounds. */
  static List<String> keyTypes(Operator of) {
    List<String> types = new ArrayList<>(of.keyTypes());
    types.addAll(BOUNDS);
    return types;
  }

  /** A window has closed where its end is not above stream time less this. */
  long delayMs();

  /**
   * Rows of windows that end here or before it are not kept any more. They may outlive their windows,
   * for who looks them up; never the other way round.
   */
  default long letGoUntil(long streamTime) {
    return streamTime - delayMs();
  }

  /** Whether a row's bucket is that of its window's end, or of its start. */
  boolean bucketsByEnd();

  /** How long a bucket is. Part of the checkpoint: it must not depend on the grace period. */
  long bucketMs();

  /** No window of a bucket with this first millisecond ends before. */
  default long firstEnd(long firstMs) {
    return firstMs;
  }

  /** The latest end of a window in a bucket with this last millisecond. */
  long lastEnd(long lastMs);
}
