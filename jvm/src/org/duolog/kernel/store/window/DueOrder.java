package org.duolog.kernel.store.window;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * The order in which rows of a task are emitted by time: by the end of their window, then its
 * start, then the bytes of their key.
 *
 * <pre>
 *   buckets by time   [ ‥‥ ][ ‥‥ ][ ‥‥ ]   rows are unordered within a bucket ({@link WindowRows})
 *                       ▲ the first bucket in which a row may be due is read and sorted here
 * </pre>
 *
 * <p>Only keys are kept, up to a limit; the bucket is read again when these have left. In real
 * time, a limited number of keys is read with each record. A row may be gone when its turn comes,
 * so the caller looks it up. If rows stay after they have been emitted, the caller knows how far
 * that is. Threads: one at a time.
 */
final class DueOrder {
  private static final long BYTES_MAX = 64L << 20;
  private static final int OVERHEAD_BYTES = 200;

  private final Rows rows;
  private final int readMax;
  private final long bytesMax;

  /** Keys of rows that are only in memory, by bucket. */
  private final TreeMap<Long, Set<UnsafeRow>> unwritten = new TreeMap<>();

  private final Map<Long, Sorted> sorted = new HashMap<>();

  /** Access to the rows, as {@link WindowRows} has them. */
  interface Rows {
    /** Returns the first bucket that has rows in the state, or null. */
    Long firstBucket();

    long bucket(UnsafeRow key);

    boolean isStored(long bucket);

    /** Returns the keys of a bucket in the state. */
    Iterator<UnsafeRow> keys(long bucket);

    Position position(UnsafeRow key);

    /** Returns a time before which no row of a bucket ends. */
    long firstEnd(long bucket);

    /** Returns true if a row of a bucket can be due. */
    boolean mayBeDue(long bucket);

    boolean isClosed(long end);

    /** Writes all pending rows to the state. */
    void write();

    /** Called if a bucket has no more rows, or only rows that have been emitted. */
    void emptied(long bucket);

    /**
     * Returns true if emitted rows stay and the bucket may get others: then {@link #emptied} is not
     * called.
     */
    default boolean mayGrow(long bucket) {
      return false;
    }

    /** Returns true if the row at a place stays and has been emitted before. */
    default boolean hasLeft(Position place) {
      return false;
    }

    /** Called when the row at a place is emitted. */
    default void leaves(Position place) {}

    /** Called when all due rows have been emitted. */
    default void noneIsDue() {}
  }

  /** The position of a row in the order. */
  record Position(long end, long start, byte[] key) implements Comparable<Position>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compareTo(Position other) {
      int order = Long.compare(end, other.end);
      order = order != 0 ? order : Long.compare(start, other.start);
      return order != 0 ? order : Arrays.compareUnsigned(key, other.key);
    }
  }

  /** @param readMax how many keys are read at once */
  DueOrder(Rows rows, int readMax) {
    this(rows, readMax, BYTES_MAX);
  }

  DueOrder(Rows rows, int readMax, long bytesMax) {
    this.rows = rows;
    this.readMax = readMax;
    this.bytesMax = bytesMax;
  }

  /** Adds a row; {@code stored} is true if it is in the state already. */
  void add(UnsafeRow key, boolean stored) {
    long bucket = rows.bucket(key);
    Sorted known = sorted.get(bucket);
    if (known != null) {
      known.add(key);
    } else if (!stored) {
      unwritten.computeIfAbsent(bucket, unused -> new HashSet<>()).add(key);
    }
  }

  /** Notes that a row has been written to the state. */
  void written(UnsafeRow key) {
    long bucket = rows.bucket(key);
    Set<UnsafeRow> keys = unwritten.get(bucket);
    if (keys != null && keys.remove(key) && keys.isEmpty()) {
      unwritten.remove(bucket);
    }
  }

  /**
   * Removes and returns the key of the next row; null if none is due, or if more must be read with
   * the next record.
   *
   * @param early true if the row need not be due
   */
  UnsafeRow poll(boolean early) {
    for (Long bucket; (bucket = firstBucket()) != null; ) {
      if (!early && !rows.mayBeDue(bucket)) {
        break;
      }
      Sorted first = sorted.computeIfAbsent(bucket, this::begin);
      if (!first.read()) {
        return null;
      }
      if (!first.keys.isEmpty()) {
        if (early || rows.isClosed(first.keys.firstKey().end)) {
          return first.poll();
        }
        break;
      }
      if (first.leftOut) {
        sorted.remove(bucket);
        rows.write();
      } else if (rows.mayGrow(bucket)) {
        break;
      } else {
        sorted.remove(bucket);
        rows.emptied(bucket);
      }
    }
    rows.noneIsDue();
    return null;
  }

  /** Returns a time before which no pending row ends; the least number if unknown. */
  long firstEnd() {
    Long bucket = firstBucket();
    if (bucket == null) {
      return Long.MIN_VALUE;
    }
    Sorted first = sorted.get(bucket);
    boolean isKnown = first != null && first.unread == null && !first.keys.isEmpty();
    return isKnown ? first.keys.firstKey().end : rows.firstEnd(bucket);
  }

  private Long firstBucket() {
    Long first = rows.firstBucket();
    for (Long bucket : sorted.keySet()) {
      first = first == null ? bucket : Math.min(first, bucket);
    }
    if (!unwritten.isEmpty()) {
      first = first == null ? unwritten.firstKey() : Math.min(first, unwritten.firstKey());
    }
    return first;
  }

  private Sorted begin(long bucket) {
    Sorted begun = new Sorted(bucket, rows.isStored(bucket) ? rows.keys(bucket) : null);
    Set<UnsafeRow> keys = unwritten.remove(bucket);
    if (keys != null) {
      keys.forEach(begun::add);
    }
    return begun;
  }

  /** The first keys of a bucket, sorted. All keys up to the last one of them are included. */
  private final class Sorted {
    final TreeMap<Position, UnsafeRow> keys = new TreeMap<>();
    boolean leftOut;
    private final long bucket;
    private Iterator<UnsafeRow> unread;
    private long bytes;

    /** @param unread the keys in the state; null for none */
    Sorted(long bucket, Iterator<UnsafeRow> unread) {
      this.bucket = bucket;
      this.unread = unread;
    }

    /** Returns true if all keys have been read. */
    boolean read() {
      for (int left = readMax; unread != null && left > 0; left--) {
        if (!unread.hasNext()) {
          unread = null;
          break;
        }
        UnsafeRow key = unread.next();
        // Distant buckets may share a number.
        if (rows.bucket(key) == bucket) {
          add(key);
        }
      }
      return unread == null;
    }

    void add(UnsafeRow key) {
      Position place = rows.position(key);
      if (rows.hasLeft(place)) {
        return;
      }
      if (leftOut && (keys.isEmpty() || place.compareTo(keys.lastKey()) > 0)) {
        return;
      }
      if (keys.put(place, key) == null) {
        bytes += bytes(place, key);
      }
      while (bytes > bytesMax && keys.size() > 1) {
        Map.Entry<Position, UnsafeRow> last = keys.pollLastEntry();
        bytes -= bytes(last.getKey(), last.getValue());
        leftOut = true;
      }
    }

    UnsafeRow poll() {
      Map.Entry<Position, UnsafeRow> first = keys.pollFirstEntry();
      bytes -= bytes(first.getKey(), first.getValue());
      rows.leaves(first.getKey());
      return first.getValue();
    }

    private static long bytes(Position place, UnsafeRow key) {
      return (long) OVERHEAD_BYTES + place.key.length + key.getSizeInBytes();
    }
  }
}
