package org.duolog.kernel.store;

import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.TreeSet;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.spec.Windows;

/**
 * What a store in buckets of time knows of a task: stream time, and which buckets may have rows.
 *
 * <pre>
 *   task, 0  ->  stream time                       8 bytes, big-endian
 *   task, 1  ->  buckets that may have rows        8 bytes each, big-endian, ascending ({@link Form})
 * </pre>
 *
 * <p>Stands in the store's own state, under the task's own number, beside rows whose keys are longer; it is
 * read and written while the task is selected. Changes are in memory until {@link #write}. Threads: one at a time.
 */
final class TaskTime {
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  static final long NO_TIME = -1;

  /** How the buckets are written: part of the checkpoint. */
  enum Form {
    EACH,

    /** Behind how long a bucket is: that was decided when the first one was made. */
    EACH_BEHIND_LENGTH,

    /** First and last of those that are side by side. */
    RUNS
  }

  private final MapState<byte[], byte[]> state;
  private final Form form;
  private final TreeSet<Long> buckets = new TreeSet<>();
  private long bucketMs;
  private long time = NO_TIME;
  private boolean moved;
  private boolean changed;

  /** What is left of the scan of the first bucket; null before it. */
  private Iterator<UnsafeRow> expiring;

  /** @param bucketMs how long a bucket is, if the state does not say so */
  TaskTime(MapState<byte[], byte[]> state, long bucketMs, Form form) {
    this.state = state;
    this.bucketMs = bucketMs;
    this.form = form;
    byte[] seen = state.getValue(TIME);
    if (seen != null) {
      time = ByteBuffer.wrap(seen).getLong();
    }
    byte[] known = state.getValue(BUCKETS);
    if (known != null) {
      read(ByteBuffer.wrap(known));
    }
  }

  /** The greatest timestamp that was seen; -1 before the first. */
  long time() {
    return time;
  }

  /** A record was seen; returns whether stream time has moved on. */
  boolean observe(long ts) {
    boolean later = ts > time;
    if (later) {
      time = ts;
      moved = true;
    }
    return later;
  }

  /** The bucket of a time. */
  long bucket(long ts) {
    return Math.floorDiv(ts, bucketMs);
  }

  long start(long bucket) {
    return bucket * bucketMs;
  }

  /** The first millisecond behind a bucket. */
  long end(long bucket) {
    return Windows.end(start(bucket), bucketMs);
  }

  boolean isEmpty() {
    return buckets.isEmpty();
  }

  /** The first bucket that may have rows. */
  long first() {
    return buckets.first();
  }

  /** All buckets that may have rows. */
  Iterable<Long> all() {
    return buckets;
  }

  /** The buckets that may have rows, among those of times from first to last. */
  Iterable<Long> between(long first, long last) {
    return buckets.subSet(bucket(first), true, bucket(last), true);
  }

  boolean has(long bucket) {
    return buckets.contains(bucket);
  }

  /** The bucket gets a row; returns whether it had none. */
  boolean add(long bucket) {
    boolean isNew = buckets.add(bucket);
    changed |= isNew;
    return isNew;
  }

  /** The bucket has no row any more; returns whether it might have had some. */
  boolean remove(long bucket) {
    boolean wasThere = buckets.remove(bucket);
    changed |= wasThere;
    return wasThere;
  }

  /**
   * Looks at up to so many rows of the first buckets, as long as these have expired.
   *
   * @param keys of the rows that a bucket has in the state
   * @param look deletes a row, or has it lie elsewhere
   */
  void expire(
      int rowsMax,
      LongPredicate hasExpired,
      LongFunction<Iterator<UnsafeRow>> keys,
      Look look) {
    int left = rowsMax;
    while (left > 0 && !buckets.isEmpty() && hasExpired.test(buckets.first())) {
      long bucket = buckets.first();
      if (expiring == null) {
        expiring = keys.apply(bucket);
      }
      for (; left > 0 && expiring.hasNext(); left--) {
        look.at(bucket, expiring.next());
      }
      if (!expiring.hasNext()) {
        expiring = null;
        remove(bucket);
      }
    }
  }

  /** Takes a row of a bucket that has expired. */
  interface Look {
    void at(long bucket, UnsafeRow key);
  }

  /** Writes what differs from the state. */
  void write() {
    if (moved) {
      state.updateValue(TIME, ByteBuffer.allocate(Long.BYTES).putLong(time).array());
      moved = false;
    }
    if (changed) {
      state.updateValue(BUCKETS, form == Form.RUNS ? runs() : each());
      changed = false;
    }
  }

  private void read(ByteBuffer known) {
    if (form == Form.EACH_BEHIND_LENGTH) {
      bucketMs = known.getLong();
    }
    while (known.hasRemaining()) {
      long first = known.getLong();
      long last = form == Form.RUNS ? known.getLong() : first;
      for (long bucket = first; bucket <= last; bucket++) {
        buckets.add(bucket);
      }
    }
  }

  private byte[] each() {
    int more = form == Form.EACH_BEHIND_LENGTH ? 1 : 0;
    ByteBuffer each = ByteBuffer.allocate((more + buckets.size()) * Long.BYTES);
    if (form == Form.EACH_BEHIND_LENGTH) {
      each.putLong(bucketMs);
    }
    buckets.forEach(each::putLong);
    return each.array();
  }

  private byte[] runs() {
    ByteBuffer runs = ByteBuffer.allocate(buckets.size() * 2 * Long.BYTES);
    Long last = null;
    for (long bucket : buckets) {
      if (last == null || bucket != last + 1) {
        if (last != null) {
          runs.putLong(last);
        }
        runs.putLong(bucket);
      }
      last = bucket;
    }
    if (last != null) {
      runs.putLong(last);
    }
    byte[] written = new byte[runs.position()];
    runs.flip().get(written);
    return written;
  }
}
