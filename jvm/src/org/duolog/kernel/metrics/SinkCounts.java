package org.duolog.kernel.metrics;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Counts the records that one Spark partition of the sink has written to a topic, and their ages by
 * timestamp.
 *
 * <p>Ages are counted in powers of two: index i counts ages below 2^i ms (and from 2^(i-1)), the
 * last index all older ones. Threads: the task writes, any thread reads, as in {@link NodeCounts}.
 * Source: Kafka Streams' record-e2e-latency, KIP-613; records-produced-total, KIP-846.
 */
public final class SinkCounts {
  private static final int PLACES = 24;
  private static final VarHandle AGES = MethodHandles.arrayElementVarHandle(long[].class);
  private static final VarHandle RECORDS;
  private static final VarHandle BYTES;
  private static final VarHandle AGE_SUM;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      RECORDS = lookup.findVarHandle(SinkCounts.class, "records", long.class);
      BYTES = lookup.findVarHandle(SinkCounts.class, "bytes", long.class);
      AGE_SUM = lookup.findVarHandle(SinkCounts.class, "ageSum", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final long[] ages = new long[PLACES];
  private long records;
  private long bytes;
  private long ageSum;

  /** Counts a record of this size and age; a timestamp in the future counts as age 0. */
  public void write(long bytesOfIt, long ageMs) {
    if (!NodeCounts.ON) {
      return;
    }
    long age = Math.max(0, ageMs);
    int place = Math.min(PLACES - 1, Long.SIZE - Long.numberOfLeadingZeros(age));
    RECORDS.setOpaque(this, (long) RECORDS.getOpaque(this) + 1);
    BYTES.setOpaque(this, (long) BYTES.getOpaque(this) + bytesOfIt);
    AGE_SUM.setOpaque(this, (long) AGE_SUM.getOpaque(this) + age);
    AGES.setOpaque(ages, place, (long) AGES.getOpaque(ages, place) + 1);
  }

  /** Renders {@code {"records", "bytes", "age_sum", "ages": [count…]}}. */
  Map<String, Object> toJson() {
    long[] copy = new long[PLACES];
    for (int place = 0; place < PLACES; place++) {
      copy[place] = (long) AGES.getOpaque(ages, place);
    }
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("records", (long) RECORDS.getOpaque(this));
    found.put("bytes", (long) BYTES.getOpaque(this));
    found.put("age_sum", (long) AGE_SUM.getOpaque(this));
    found.put("ages", copy);
    return found;
  }
}
