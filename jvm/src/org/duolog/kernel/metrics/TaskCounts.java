package org.duolog.kernel.metrics;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Counts the records of one task, its stream time, the lateness of records, and its nodes.
 *
 * <p>A task is one of a sub-topology ({@code 1_0}: sub-topology 1, task 0), or reads a topic
 * partition ({@code flights-0}). Its counts continue in the next micro-batch.
 *
 * <p>Threads: the task writes, any thread reads, as in {@link NodeCounts}. Source: Kafka Streams
 * TaskMetrics.
 */
public final class TaskCounts {
  private static final VarHandle RECORDS;
  private static final VarHandle STREAM_TIME;
  private static final VarHandle LAST;
  private static final VarHandle LATENESS_SUM;
  private static final VarHandle LATENESS_MAX;
  private static final long NO_TIME = -1;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      RECORDS = lookup.findVarHandle(TaskCounts.class, "records", long.class);
      STREAM_TIME = lookup.findVarHandle(TaskCounts.class, "streamTime", long.class);
      LAST = lookup.findVarHandle(TaskCounts.class, "last", long.class);
      LATENESS_SUM = lookup.findVarHandle(TaskCounts.class, "latenessSum", long.class);
      LATENESS_MAX = lookup.findVarHandle(TaskCounts.class, "latenessMax", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Map<String, NodeCounts> nodes = new ConcurrentHashMap<>();
  private final Map<String, StoreCounts> stores = new ConcurrentHashMap<>();
  private long records;
  private long streamTime = NO_TIME;
  private long last = NO_TIME;
  private long latenessSum;
  private long latenessMax;

  /** Returns the counters of a node; called when the task starts, not for each record. */
  public NodeCounts node(String name) {
    return nodes.computeIfAbsent(name, unused -> new NodeCounts());
  }

  /** Returns the counters of a store. */
  public StoreCounts store(String name) {
    return stores.computeIfAbsent(name, unused -> new StoreCounts());
  }

  /**
   * Counts a record with this timestamp. Stream time is the greatest timestamp so far; an earlier
   * record is late by the difference.
   */
  public void observe(long ts) {
    if (!NodeCounts.ON) {
      return;
    }
    RECORDS.setOpaque(this, (long) RECORDS.getOpaque(this) + 1);
    LAST.setOpaque(this, ts);
    long time = (long) STREAM_TIME.getOpaque(this);
    if (ts >= time) {
      STREAM_TIME.setOpaque(this, ts);
    } else {
      long late = time - ts;
      LATENESS_SUM.setOpaque(this, (long) LATENESS_SUM.getOpaque(this) + late);
      if (late > (long) LATENESS_MAX.getOpaque(this)) {
        LATENESS_MAX.setOpaque(this, late);
      }
    }
  }

  /**
   * Renders {@code {"records", "stream_time", "last_ts", "lateness_sum", "lateness_max", "nodes":
   * {name: …}, "stores": {name: …}}}, with times in ms since 1970, and -1 before the first record.
   */
  Map<String, Object> toJson() {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("records", (long) RECORDS.getOpaque(this));
    found.put("stream_time", (long) STREAM_TIME.getOpaque(this));
    found.put("last_ts", (long) LAST.getOpaque(this));
    found.put("lateness_sum", (long) LATENESS_SUM.getOpaque(this));
    found.put("lateness_max", (long) LATENESS_MAX.getOpaque(this));
    Map<String, Object> each = new LinkedHashMap<>();
    nodes.forEach((name, counts) -> each.put(name, counts.toJson()));
    found.put("nodes", each);
    Map<String, Object> kept = new LinkedHashMap<>();
    stores.forEach((name, counts) -> kept.put(name, counts.toJson()));
    found.put("stores", kept);
    return found;
  }
}
