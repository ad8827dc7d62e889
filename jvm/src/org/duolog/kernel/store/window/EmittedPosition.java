package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Comparator;

/**
 * How far the rows of a task have been told, where they stay behind their results.
 *
 * <pre>  before, end, start   8 bytes each, big-endian, then key bytes
 * </pre>
 *
 * <p>All rows up to a place have been told ({@link DueOrder.Place}); none is made there any more, as its
 * window has closed. What was told with the running record is found until the next one: of two tables that
 * close with it, each finds the other's row. Threads: one at a time.
 */
public final class EmittedPosition {
  private static final DueOrder.Place NOTHING = until(Long.MIN_VALUE);

  private DueOrder.Place last;
  private long before;
  private boolean changed;

  /** @param read what {@link #write} has written, or nothing */
  public EmittedPosition(ByteBuffer read) {
    before = Long.MIN_VALUE;
    last = NOTHING;
    if (read.hasRemaining()) {
      before = read.getLong();
      long end = read.getLong();
      long start = read.getLong();
      byte[] key = new byte[read.remaining()];
      read.get(key);
      last = new DueOrder.Place(end, start, key);
    }
  }

  /** Behind all rows whose windows end here or before it. */
  static DueOrder.Place until(long end) {
    return new DueOrder.Place(end, Long.MAX_VALUE, new byte[0]);
  }

  boolean has(DueOrder.Place place) {
    return place.compareTo(last) <= 0;
  }

  /** The place up to which all rows have been told. */
  DueOrder.Place last() {
    return last;
  }

  /** What all of these have told. */
  public static EmittedPosition least(Collection<EmittedPosition> all) {
    EmittedPosition least = new EmittedPosition(ByteBuffer.allocate(0));
    least.before = all.stream().mapToLong(of -> of.before).min().orElse(Long.MIN_VALUE);
    least.last = all.stream().map(of -> of.last).min(Comparator.naturalOrder()).orElse(NOTHING);
    return least;
  }

  /** The end up to which all rows were told before the running record. */
  public long before() {
    return before;
  }

  /** The end up to which all rows have been told. */
  long until() {
    return last.start() == Long.MAX_VALUE ? last.end() : last.end() - 1;
  }

  /** A row is told. */
  void tell(DueOrder.Place place) {
    last = place;
    changed = true;
  }

  /** Nothing that ends here or before it is left to tell. */
  void tellUntil(long end) {
    DueOrder.Place place = until(end);
    if (!has(place)) {
      tell(place);
    }
  }

  /** A grace period that has grown has opened windows again: they will be told once more. */
  void openFrom(long end) {
    DueOrder.Place place = until(end);
    last = has(place) ? place : last;
    before = Math.min(before, end);
  }

  /** The next record is seen. */
  void next() {
    if (before < until()) {
      before = until();
      changed = true;
    }
  }

  /** Whether it was changed since it was written. */
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
