package org.duolog.kernel.metrics;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts the records that one node has processed, forwarded and dropped for one task.
 *
 * <p>Threads: the task writes, any thread reads. Counts use plain additions with opaque access: no
 * fence, lock or look-up for each record. Source: Kafka Streams ProcessorNodeMetrics, TaskMetrics.
 */
public final class NodeCounts {
  /**
   * False with {@code -Dduolog.metrics=off}, which is only meant to measure the cost of counting.
   */
  public static final boolean ON = !"off".equals(System.getProperty("duolog.metrics"));

  private static final VarHandle PROCESSED;
  private static final VarHandle FORWARDED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      PROCESSED = lookup.findVarHandle(NodeCounts.class, "processed", long.class);
      FORWARDED = lookup.findVarHandle(NodeCounts.class, "forwarded", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The reason why a node dropped a record; filtered records are not dropped. */
  public enum Reason {
    NULL_KEY,
    NULL_VALUE,

    /** After the end of its window and the grace period, or older than a table's history. */
    LATE,

    /** A row that is not the latest version, where only the latest counts. */
    OUT_OF_ORDER,

    /** An expression could not be computed. */
    ERROR;

    private static final Reason[] ALL = values();
  }

  private final AtomicLongArray dropped = new AtomicLongArray(Reason.ALL.length);
  private long processed;
  private long forwarded;

  /** Counts a record that has arrived. */
  public void process() {
    if (ON) {
      PROCESSED.setOpaque(this, (long) PROCESSED.getOpaque(this) + 1);
    }
  }

  /** Counts a forwarded record: once, for any number of receivers. */
  public void forward() {
    if (ON) {
      FORWARDED.setOpaque(this, (long) FORWARDED.getOpaque(this) + 1);
    }
  }

  public void drop(Reason reason) {
    if (ON) {
      dropped.incrementAndGet(reason.ordinal());
    }
  }

  /**
   * Renders {@code {"process", "forward", "dropped": {reason: count}}}; reasons with count 0 are
   * left out.
   */
  Map<String, Object> toJson() {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("process", (long) PROCESSED.getOpaque(this));
    found.put("forward", (long) FORWARDED.getOpaque(this));
    Map<String, Long> reasons = new LinkedHashMap<>();
    for (Reason reason : Reason.ALL) {
      long count = dropped.get(reason.ordinal());
      if (count > 0) {
        reasons.put(reason.name().toLowerCase(Locale.ROOT), count);
      }
    }
    found.put("dropped", reasons);
    return found;
  }
}
