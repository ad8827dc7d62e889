package org.duolog.kernel.store.window;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Utils;

/**
 * How far rows had been told by the tasks that had them before there were others ({@code StateRepartitioner}): these were not
 * equally far, and {@link EmittedPosition} is that of the one that was least so.
 *
 * <pre>
 *   task, 4  ->  number of tasks then, task (4 bytes each), as {@link EmittedPosition}: before, end, start (8 bytes each),
 *                size of key (4 bytes), key bytes; one behind the other
 * </pre>
 *
 * <p>Of which task a row was, its key bytes say: they are those that choose a key's task. All of it is forgotten when the
 * task has told as much, which is with its first records. Threads: one at a time.
 */
public final class MigratedEmittedPosition implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int HEAD = 3 * Integer.BYTES + 3 * Long.BYTES;

  private final List<Of> all = new ArrayList<>();

  /** Up to where a task of so many had told; {@code before}: up to which end before its last record. */
  private record Of(int tasks, int task, long before, DueOrder.Place last) implements Serializable {
    private static final long serialVersionUID = 1L;

    boolean had(byte[] keyBytes) {
      return Utils.toPositive(Utils.murmur2(keyBytes)) % tasks == task;
    }
  }

  private MigratedEmittedPosition() {}

  /** @param read what {@link #bytes} has given, or nothing */
  public MigratedEmittedPosition(ByteBuffer read) {
    while (read.hasRemaining()) {
      int tasks = read.getInt();
      int task = read.getInt();
      long before = read.getLong();
      long end = read.getLong();
      long start = read.getLong();
      byte[] key = new byte[read.getInt()];
      read.get(key);
      all.add(new Of(tasks, task, before, new DueOrder.Place(end, start, key)));
    }
  }

  /**
   * What is behind {@code least}, of tasks whose keys come together.
   *
   * @param told of each of these tasks
   * @param earlier what they knew of tasks before them
   */
  public static MigratedEmittedPosition of(Map<Integer, EmittedPosition> told, Collection<MigratedEmittedPosition> earlier, int tasks, EmittedPosition least) {
    MigratedEmittedPosition made = new MigratedEmittedPosition();
    told.forEach(
        (task, of) -> made.all.add(new Of(tasks, task, of.before(), of.last())));
    for (MigratedEmittedPosition of : earlier) {
      of.all.stream().filter(one -> !made.knows(one)).forEach(made.all::add);
    }
    made.forget(least);
    return made;
  }

  private boolean knows(Of one) {
    return all.stream().anyMatch(of -> of.tasks == one.tasks && of.task == one.task && of.last.compareTo(one.last) == 0);
  }

  public boolean isEmpty() {
    return all.isEmpty();
  }

  /** Whether the row of a place was told by the task that had it. */
  boolean has(DueOrder.Place place) {
    for (Of of : all) {
      if (place.compareTo(of.last) <= 0 && of.had(place.key())) {
        return true;
      }
    }
    return false;
  }

  /** The end up to which rows of these key bytes were told before the last record of their task. */
  public long before(byte[] keyBytes) {
    long before = Long.MIN_VALUE;
    for (Of of : all) {
      if (of.had(keyBytes)) {
        before = Math.max(before, of.before);
      }
    }
    return before;
  }

  /** A grace period that has grown has opened windows again; returns whether some of these were told. */
  boolean openFrom(long end) {
    DueOrder.Place place = EmittedPosition.until(end);
    boolean opens = all.stream().anyMatch(of -> of.before > end || place.compareTo(of.last) < 0);
    all.replaceAll(
        of ->
            new Of(
                of.tasks,
                of.task,
                Math.min(of.before, end),
                place.compareTo(of.last) < 0 ? place : of.last));
    return opens;
  }

  /** Forgets what the task has told by itself; returns whether there was something. */
  boolean forget(EmittedPosition told) {
    return all.removeIf(of -> told.has(of.last) && of.before <= told.before());
  }

  public byte[] bytes() {
    int size = all.stream().mapToInt(of -> HEAD + of.last.key().length).sum();
    ByteBuffer bytes = ByteBuffer.allocate(size);
    for (Of of : all) {
      bytes.putInt(of.tasks).putInt(of.task).putLong(of.before);
      bytes.putLong(of.last.end()).putLong(of.last.start());
      bytes.putInt(of.last.key().length).put(of.last.key());
    }
    return bytes.array();
  }
}
