package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Comparator;

/**
 * The position up to which the rows of a task have been emitted, if rows stay after that.
 *
 * <pre>  before, end, start   8 bytes each, big-endian, then key bytes
 * </pre>
 *
 * <p>All rows up to a place have been emitted ({@link DueOrder.Position}); no more rows are created
 * there, as their windows have closed. Rows emitted with the current record are found until the
 * next record, so that of two tables that close together each finds the other's row. Threads: one
 * at a time.
 */
public final class EmittedPosition {
  private static final DueOrder.Position NOTHING = until(Long.MIN_VALUE);

  private DueOrder.Position last;
  private long before;
  private boolean changed;

  /** @param read the bytes that {@link #write} has written, or none */
  public EmittedPosition(ByteBuffer read) {
    before = Long.MIN_VALUE;
    last = NOTHING;
    if (read.hasRemaining()) {
      before = read.getLong();
      long end = read.getLong();
      long start = read.getLong();
      byte[] key = new byte[read.remaining()];
      read.get(key);
      last = new DueOrder.Position(end, start, key);
    }
  }

  /** Returns the place after all rows whose windows end here or before. */
  static DueOrder.Position until(long end) {
    return new DueOrder.Position(end, Long.MAX_VALUE, new byte[0]);
  }

  boolean has(DueOrder.Position place) {
    return place.compareTo(last) <= 0;
  }

  /** Returns the place up to which all rows have been emitted. */
  DueOrder.Position last() {
    return last;
  }

  /** Returns the least of these positions. */
  public static EmittedPosition least(Collection<EmittedPosition> all) {
    EmittedPosition least = new EmittedPosition(ByteBuffer.allocate(0));
    least.before = all.stream().mapToLong(of -> of.before).min().orElse(Long.MIN_VALUE);
    least.last = all.stream().map(of -> of.last).min(Comparator.naturalOrder()).orElse(NOTHING);
    return least;
  }

  /** Returns the end up to which all rows had been emitted before the current record. */
  public long before() {
    return before;
  }

  /** Returns the end up to which all rows have been emitted. */
  long until() {
    return last.start() == Long.MAX_VALUE ? last.end() : last.end() - 1;
  }

  /** Notes that a row is emitted. */
  void advance(DueOrder.Position place) {
    last = place;
    changed = true;
  }

  /** Notes that no row that ends here or before remains to be emitted. */
  void advanceTo(long end) {
    DueOrder.Position place = until(end);
    if (!has(place)) {
      advance(place);
    }
  }

  /** Reopens windows, after the grace period has been extended: they are emitted again. */
  void openFrom(long end) {
    DueOrder.Position place = until(end);
    last = has(place) ? place : last;
    before = Math.min(before, end);
  }

  /** Starts the next record. */
  void next() {
    if (before < until()) {
      before = until();
      changed = true;
    }
  }

  /** Returns true if it has changed since it was written. */
  boolean isChanged() {
    return changed;
  }

  public int size() {
    return 3 * Long.BYTES + last.key().length;
  }

  public void write(ByteBuffer to) {
    to.putLong(before).putLong(last.end()).putLong(last.start()).put(last.key());
    changed = false;
  }
}
