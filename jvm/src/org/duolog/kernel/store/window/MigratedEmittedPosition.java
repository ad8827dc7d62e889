package org.duolog.kernel.store.window;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Utils;

/**
 * The positions that earlier tasks had reached before the number of tasks changed
 * ({@code StateRepartitioner}). They differ, and {@link EmittedPosition} is the least of them.
 *
 * <pre>
 *   task, 4  ->  for each task: number of tasks then, task (4 bytes each), as
 *                {@link EmittedPosition}: before, end, start (8 bytes each), size of key (4 bytes),
 *                key bytes
 * </pre>
 *
 * <p>The key bytes of a row determine its earlier task: they are those that choose a key's task.
 * Dropped when the task itself has reached these positions, with its first records. Threads: one at
 * a time.
 */
public final class MigratedEmittedPosition implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int HEAD = 3 * Integer.BYTES + 3 * Long.BYTES;

  private final List<TaskPosition> all = new ArrayList<>();

  /**
   * The position of one of several tasks; {@code before} is the end that it had reached before its
   * last record.
   */
  private record TaskPosition(int tasks, int task, long before, DueOrder.Position last)
      implements Serializable {
    private static final long serialVersionUID = 1L;

    boolean had(byte[] keyBytes) {
      return Utils.toPositive(Utils.murmur2(keyBytes)) % tasks == task;
    }
  }

  private MigratedEmittedPosition() {}

  /** @param read the bytes that {@link #bytes} has returned, or none */
  public MigratedEmittedPosition(ByteBuffer read) {
    while (read.hasRemaining()) {
      int tasks = read.getInt();
      int task = read.getInt();
      long before = read.getLong();
      long end = read.getLong();
      long start = read.getLong();
      byte[] key = new byte[read.getInt()];
      read.get(key);
      all.add(new TaskPosition(tasks, task, before, new DueOrder.Position(end, start, key)));
    }
  }

  /**
   * Returns the positions after {@code least}, of tasks whose keys are now in one task.
   *
   * @param told the positions of these tasks
   * @param earlier their positions of even earlier tasks
   */
  public static MigratedEmittedPosition of(
      Map<Integer, EmittedPosition> told,
      Collection<MigratedEmittedPosition> earlier,
      int tasks,
      EmittedPosition least) {
    MigratedEmittedPosition made = new MigratedEmittedPosition();
    told.forEach(
        (task, of) -> made.all.add(new TaskPosition(tasks, task, of.before(), of.last())));
    for (MigratedEmittedPosition of : earlier) {
      of.all.stream().filter(one -> !made.knows(one)).forEach(made.all::add);
    }
    made.forget(least);
    return made;
  }

  private boolean knows(TaskPosition one) {
    return all.stream()
        .anyMatch(
            of -> of.tasks == one.tasks && of.task == one.task && of.last.compareTo(one.last) == 0);
  }

  public boolean isEmpty() {
    return all.isEmpty();
  }

  /** Returns true if the row at a place was emitted by its earlier task. */
  boolean has(DueOrder.Position place) {
    for (TaskPosition of : all) {
      if (place.compareTo(of.last) <= 0 && of.had(place.key())) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the end up to which rows of these key bytes were emitted before the last record of
   * their task.
   */
  public long before(byte[] keyBytes) {
    long before = Long.MIN_VALUE;
    for (TaskPosition of : all) {
      if (of.had(keyBytes)) {
        before = Math.max(before, of.before);
      }
    }
    return before;
  }

  /**
   * Reopens windows, after the grace period has been extended; returns true if some of them had
   * been emitted.
   */
  boolean openFrom(long end) {
    DueOrder.Position place = EmittedPosition.until(end);
    boolean opens = all.stream().anyMatch(of -> of.before > end || place.compareTo(of.last) < 0);
    all.replaceAll(
        of ->
            new TaskPosition(
                of.tasks,
                of.task,
                Math.min(of.before, end),
                place.compareTo(of.last) < 0 ? place : of.last));
    return opens;
  }

  /** Drops positions that the task has reached itself; returns true if there were any. */
  boolean forget(EmittedPosition told) {
    return all.removeIf(of -> told.has(of.last) && of.before <= told.before());
  }

  public byte[] bytes() {
    int size = all.stream().mapToInt(of -> HEAD + of.last.key().length).sum();
    ByteBuffer bytes = ByteBuffer.allocate(size);
    for (TaskPosition of : all) {
      bytes.putInt(of.tasks).putInt(of.task).putLong(of.before);
      bytes.putLong(of.last.end()).putLong(of.last.start());
      bytes.putInt(of.last.key().length).put(of.last.key());
    }
    return bytes.array();
  }
}
