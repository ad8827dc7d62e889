package org.duolog.kernel.metrics;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one node has done for one task: records that came, records that it handed on, records that it dropped.
 *
 * <p>Threads: the task's counts, any reads. Counts are plain additions of opaque accesses: no fence, no lock and no
 * lookup for a record, and nothing to publish. Source: Kafka Streams ProcessorNodeMetrics, TaskMetrics.
 */
public final class NodeCounts {
  /** Nothing is counted with {@code -Dduolog.metrics=off}: only to measure what counting costs. */
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

  /** Why a node dropped a record; what a filter leaves out is not dropped. */
  public enum Reason {
    NULL_KEY,
    NULL_VALUE,

    /** Behind the end of its window and the grace period, or behind a table's history. */
    LATE,

    /** A version of a table's row that is not the latest, where only the latest counts. */
    OUT_OF_ORDER,

    /** An expression had no value for it. */
    ERROR;

    private static final Reason[] ALL = values();
  }

  private final AtomicLongArray dropped = new AtomicLongArray(Reason.ALL.length);
  private long processed;
  private long forwarded;

  /** A record has come. */
  public void process() {
    if (ON) {
      PROCESSED.setOpaque(this, (long) PROCESSED.getOpaque(this) + 1);
    }
  }

  /** A record was handed on: once, to however many nodes. */
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

  /** As {@code {"process", "forward", "dropped": {reason: count}}}, without what is 0 of the last. */
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
