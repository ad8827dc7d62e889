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
 * Which row of a task leaves next, where rows leave by time: the end of their window, then its start, then
 * the bytes of their key.
 *
 * <pre>
 *   buckets by time   [ ‥‥ ][ ‥‥ ][ ‥‥ ]      rows lie in them without an order ({@link WindowRows})
 *                       ▲ the first one in which a row may be due is read and sorted here
 * </pre>
 *
 * <p>Only keys are kept, and only as many as fit: what does not is left out, and the bucket is read again when
 * those have left. In real time so many keys are read with each record. A row may be gone when its
 * turn comes: whoever asks looks it up. Where rows stay behind their results, who has the rows knows how far
 * they have left. Threads: one at a time.
 */
final class DueOrder {
  private static final long BYTES_MAX = 64L << 20;
  private static final int OVERHEAD_BYTES = 200;

  private final Rows rows;
  private final int readMax;
  private final long bytesMax;

  /** Keys of rows that are in memory only, by bucket. */
  private final TreeMap<Long, Set<UnsafeRow>> unwritten = new TreeMap<>();

  private final Map<Long, Sorted> sorted = new HashMap<>();

  /** The rows in question, as {@link WindowRows} has them. */
  interface Rows {
    /** The first bucket that has rows in the state, or null. */
    Long firstBucket();

    long bucket(UnsafeRow key);

    boolean isStored(long bucket);

    /** The keys that a bucket has in the state. */
    Iterator<UnsafeRow> keys(long bucket);

    Place place(UnsafeRow key);

    /** No row of a bucket ends before. */
    long firstEnd(long bucket);

    /** Whether a row of a bucket can be due. */
    boolean mayBeDue(long bucket);

    boolean isClosed(long end);

    /** Brings everything into the state. */
    void write();

    /** A bucket has no row any more, or none that has not left. */
    void emptied(long bucket);

    /** Whether rows stay and a bucket has others to come: then it is not told that it is emptied. */
    default boolean mayGrow(long bucket) {
      return false;
    }

    /** Whether the row of a place stays, and has left before. */
    default boolean hasLeft(Place place) {
      return false;
    }

    /** The row of a place leaves. */
    default void leaves(Place place) {}

    /** All that is due has left. */
    default void noneIsDue() {}
  }

  /** When a row leaves. */
  record Place(long end, long start, byte[] key) implements Comparable<Place>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public int compareTo(Place other) {
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

  /** A row was made; {@code stored} where it is in the state already. */
  void made(UnsafeRow key, boolean stored) {
    long bucket = rows.bucket(key);
    Sorted known = sorted.get(bucket);
    if (known != null) {
      known.add(key);
    } else if (!stored) {
      unwritten.computeIfAbsent(bucket, unused -> new HashSet<>()).add(key);
    }
  }

  /** A row has come into the state. */
  void written(UnsafeRow key) {
    long bucket = rows.bucket(key);
    Set<UnsafeRow> keys = unwritten.get(bucket);
    if (keys != null && keys.remove(key) && keys.isEmpty()) {
      unwritten.remove(bucket);
    }
  }

  /**
   * Takes the key of the next row; null where none is due, or more has to be read for the next record.
   *
   * @param early whether it need not be due
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

  /** No row that is to leave ends before; the least number where none is known. */
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

  /** The first keys of a bucket, sorted. All that come before the last of them are there. */
  private final class Sorted {
    final TreeMap<Place, UnsafeRow> keys = new TreeMap<>();
    boolean leftOut;
    private final long bucket;
    private Iterator<UnsafeRow> unread;
    private long bytes;

    /** @param unread what the state has; null for nothing */
    Sorted(long bucket, Iterator<UnsafeRow> unread) {
      this.bucket = bucket;
      this.unread = unread;
    }

    /** Returns whether all was read. */
    boolean read() {
      for (int left = readMax; unread != null && left > 0; left--) {
        if (!unread.hasNext()) {
          unread = null;
          break;
        }
        UnsafeRow key = unread.next();
        // Buckets far apart may share a place.
        if (rows.bucket(key) == bucket) {
          add(key);
        }
      }
      return unread == null;
    }

    void add(UnsafeRow key) {
      Place place = rows.place(key);
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
        Map.Entry<Place, UnsafeRow> last = keys.pollLastEntry();
        bytes -= bytes(last.getKey(), last.getValue());
        leftOut = true;
      }
    }

    UnsafeRow poll() {
      Map.Entry<Place, UnsafeRow> first = keys.pollFirstEntry();
      bytes -= bytes(first.getKey(), first.getValue());
      rows.leaves(first.getKey());
      return first.getValue();
    }

    private static long bytes(Place place, UnsafeRow key) {
      return (long) OVERHEAD_BYTES + place.key.length + key.getSizeInBytes();
    }
  }
}
