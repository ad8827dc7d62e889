package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * The state of a task whose rows are stored by window; changes are written with a record, or at the
 * end.
 *
 * <pre>
 *   task, 0  ->  stream time                   8 bytes, big-endian; then {@link EmittedPosition},
 *                                              if rows stay
 *   task, 1  ->  buckets that may have rows    8 bytes each, big-endian, ascending
 *   task, 2  ->  number of rows and of their bytes, if these are counted      8 bytes each
 *   task, 3  ->  {@link IdleTime}, if idle windows close
 *   task, 4  ->  {@link MigratedEmittedPosition}, after {@code duolog repartition}, if rows stay
 * </pre>
 */
final class WindowTask {
  static final long NO_TIME = -1;
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  private static final byte[] COUNTS = {2};
  private static final byte[] TOLD_BEFORE = {4};

  final TreeSet<Long> buckets = new TreeSet<>();
  final WindowIndex index;
  final DueOrder due;

  /** Measures how long the task has been idle; null if idle windows do not close. */
  final IdleTime idle;

  /** The position up to which rows that stay have been emitted. */
  final EmittedPosition emitted;

  /** The positions that earlier tasks had reached. */
  final MigratedEmittedPosition migrated;

  /** Buckets whose rows have been removed in memory, but not yet from the state. */
  final Set<Long> emptied = new HashSet<>();

  long streamTime = NO_TIME;

  /** The end up to which rows expire: now, and at the start of the micro-batch. */
  long over = Long.MIN_VALUE;

  long overAtFirst = Long.MIN_VALUE;

  /** The first bucket that may have a row that has not been emitted, if rows stay. */
  long firstPending = Long.MIN_VALUE;

  long rows;
  long bytes;
  boolean moved;
  boolean changed;
  boolean counted;

  /** The rest of the scan of the first bucket; null before it. */
  Iterator<UnsafeRow> expiring;

  private final boolean stay;
  private boolean migratedChanged;

  /** @param stay true if rows stay after they have been emitted */
  WindowTask(
      MapState<byte[], byte[]> state,
      boolean stay,
      boolean closesIdle,
      WindowIndex index,
      DueOrder due) {
    this.stay = stay;
    this.idle = closesIdle ? new IdleTime(state) : null;
    this.index = index;
    this.due = due;
    ByteBuffer time = read(state, TIME);
    if (time.hasRemaining()) {
      streamTime = time.getLong();
    }
    emitted = new EmittedPosition(time);
    migrated = new MigratedEmittedPosition(read(state, TOLD_BEFORE));
    for (ByteBuffer left = read(state, BUCKETS); left.hasRemaining(); ) {
      buckets.add(left.getLong());
    }
    ByteBuffer counts = read(state, COUNTS);
    if (counts.hasRemaining()) {
      rows = counts.getLong();
      bytes = counts.getLong();
    }
  }

  private static ByteBuffer read(MapState<byte[], byte[]> state, byte[] part) {
    byte[] known = state.getValue(part);
    return ByteBuffer.wrap(known == null ? new byte[0] : known);
  }

  /**
   * Reopens windows, after the grace period has been extended. The position is stored with the
   * current stream time: with a later one, the next start would reopen fewer windows.
   */
  void openFrom(long end) {
    emitted.openFrom(end);
    migratedChanged |= migrated.openFrom(end);
  }

  /** Starts the next record. */
  void next() {
    emitted.next();
    if (!migrated.isEmpty()) {
      migratedChanged |= migrated.forget(emitted);
    }
  }

  void write(MapState<byte[], byte[]> state) {
    if (moved || (stay && emitted.isChanged())) {
      ByteBuffer time = ByteBuffer.allocate(Long.BYTES + (stay ? emitted.size() : 0));
      time.putLong(streamTime);
      if (stay) {
        emitted.write(time);
      }
      state.updateValue(TIME, time.array());
      moved = false;
    }
    if (changed) {
      ByteBuffer known = ByteBuffer.allocate(buckets.size() * Long.BYTES);
      buckets.forEach(known::putLong);
      state.updateValue(BUCKETS, known.array());
      changed = false;
    }
    if (migratedChanged) {
      writeToldBefore(state);
      migratedChanged = false;
    }
    if (idle != null) {
      idle.write(state);
    }
    if (counted) {
      ByteBuffer counts = ByteBuffer.allocate(2 * Long.BYTES);
      state.updateValue(COUNTS, counts.putLong(rows).putLong(bytes).array());
      counted = false;
    }
  }

  private void writeToldBefore(MapState<byte[], byte[]> state) {
    if (migrated.isEmpty()) {
      state.removeKey(TOLD_BEFORE);
    } else {
      state.updateValue(TOLD_BEFORE, migrated.bytes());
    }
  }
}
