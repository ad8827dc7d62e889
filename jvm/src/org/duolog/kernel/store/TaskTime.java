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
 * The time of a task in a store with time buckets: stream time, and the buckets that may have rows.
 *
 * <pre>
 *   task, 0  ->  stream time                   8 bytes, big-endian
 *   task, 1  ->  buckets that may have rows    8 bytes each, big-endian, ascending ({@link Form})
 * </pre>
 *
 * <p>Stored in the store's own state under the task's own number, among rows whose keys are longer;
 * read and written while the task is selected. Changes stay in memory until {@link #write}.
 * Threads: one at a time.
 */
final class TaskTime {
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  static final long NO_TIME = -1;

  /** The encoding of the buckets; part of the checkpoint format. */
  enum Form {
    EACH,

    /** After the length of a bucket, which was fixed when the first one was created. */
    EACH_BEHIND_LENGTH,

    /** First and last bucket of each run of adjacent buckets. */
    RUNS
  }

  private final MapState<byte[], byte[]> state;
  private final Form form;
  private final TreeSet<Long> buckets = new TreeSet<>();
  private long bucketMs;
  private long time = NO_TIME;
  private boolean moved;
  private boolean changed;

  /** The rest of the scan of the first bucket; null before it. */
  private Iterator<UnsafeRow> expiring;

  /** @param bucketMs the length of a bucket, if the state does not have it */
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

  /** Returns the greatest timestamp so far; -1 before the first. */
  long time() {
    return time;
  }

  /** Takes note of a record's timestamp; returns true if stream time has advanced. */
  boolean observe(long ts) {
    boolean later = ts > time;
    if (later) {
      time = ts;
      moved = true;
    }
    return later;
  }

  /** Returns the bucket of a time. */
  long bucket(long ts) {
    return Math.floorDiv(ts, bucketMs);
  }

  long start(long bucket) {
    return bucket * bucketMs;
  }

  /** Returns the first millisecond after a bucket. */
  long end(long bucket) {
    return Windows.end(start(bucket), bucketMs);
  }

  boolean isEmpty() {
    return buckets.isEmpty();
  }

  /** Returns the first bucket that may have rows. */
  long first() {
    return buckets.first();
  }

  /** Returns all buckets that may have rows. */
  Iterable<Long> all() {
    return buckets;
  }

  /** Returns the buckets for times from first to last that may have rows. */
  Iterable<Long> between(long first, long last) {
    return buckets.subSet(bucket(first), true, bucket(last), true);
  }

  boolean has(long bucket) {
    return buckets.contains(bucket);
  }

  /** Notes that the bucket gets a row; returns true if it had none. */
  boolean add(long bucket) {
    boolean isNew = buckets.add(bucket);
    changed |= isNew;
    return isNew;
  }

  /** Notes that the bucket has no more rows; returns true if it might have had some. */
  boolean remove(long bucket) {
    boolean wasThere = buckets.remove(bucket);
    changed |= wasThere;
    return wasThere;
  }

  /**
   * Processes up to {@code rowsMax} rows of the first buckets, while these have expired.
   *
   * @param keys returns the keys of a bucket in the state
   * @param look deletes a row, or moves it
   */
  void expire(
      int rowsMax,
      LongPredicate hasExpired,
      LongFunction<Iterator<UnsafeRow>> keys,
      RowAction look) {
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

  /** Processes a row of an expired bucket. */
  interface RowAction {
    void at(long bucket, UnsafeRow key);
  }

  /** Writes changes to the state. */
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
