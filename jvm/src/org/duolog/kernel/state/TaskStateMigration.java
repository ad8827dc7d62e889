package org.duolog.kernel.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.duolog.kernel.python.ProcessorTask;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.store.window.EmittedPosition;
import org.duolog.kernel.store.window.MigratedEmittedPosition;
import org.duolog.kernel.topology.InitialEntry;

/**
 * Converts the state that stores keep per task for a new number of tasks: each task merges that of
 * the earlier tasks with which it may share keys.
 *
 * <pre>
 *   2 -> 4    task 3 from 1             a key's task is its hash modulo the number of tasks,
 *   4 -> 2    task 1 from 1 and 3       so only those that are equal modulo the greatest common
 *   2 -> 3    each from 0 and 1         divisor share keys
 *
 *   0  stream time, the last number     the greatest: nothing that has expired returns, no number
 *                                       is used twice
 *   1  buckets that may have rows       all of them
 *   2  number of waiting rows           counted again; for waiting records the next number is after
 *                                       all of them
 *   3  {@code IdleTime}                 idle only if all are; the last end of a window
 *   0  {@link EmittedPosition}          (after the time) that of the task that has emitted least
 *   4  {@link MigratedEmittedPosition}  what others had emitted beyond it, so that each row
 *                                       is emitted once
 * </pre>
 *
 * <p>Threads: one at a time.
 */
final class TaskStateMigration {
  private static final byte TIME = 0;
  private static final byte BUCKETS = 1;
  private static final byte COUNTS = 2;
  private static final byte IDLE = 3;
  private static final byte TOLD_BEFORE = 4;

  private final InitialState.StoreCopy kept;
  private final Grouping grouping;
  private final StateRepartitioner.Form form;
  private byte[] ownKey;
  private final Map<Byte, Map<Integer, byte[]>> parts = new TreeMap<>();
  private final Map<Long, long[]> counted = new HashMap<>();

  TaskStateMigration(InitialState.StoreCopy kept, Grouping grouping) {
    this.kept = kept;
    this.grouping = grouping;
    this.form = StateRepartitioner.Form.of(kept.form());
  }

  void add(long number, byte[] key, byte[] value) {
    byte part = key[0];
    if (form == StateRepartitioner.Form.SCHEDULES && !ProcessorTask.isSchedules(key)) {
      return; // The last turn: without it the processors are created again, as in a new process.
    }
    if (form.isOfProcessor()) {
      ownKey = key;
      part = TIME;
    }
    int task = (int) (Grouping.owner(number) % kept.tasksBefore());
    parts.computeIfAbsent(part, unused -> new TreeMap<>()).put(task, value);
  }

  /** Returns true if rows must be counted. */
  boolean counts() {
    return form == StateRepartitioner.Form.WINDOWS && parts.containsKey(COUNTS);
  }

  void count(InitialEntry rows) {
    ByteBuffer numbers = ByteBuffer.wrap(rows.getValue());
    long[] of = counted.computeIfAbsent(rows.getGrouping(), unused -> new long[2]);
    of[0] += numbers.getLong();
    of[1] += numbers.getLong();
  }

  List<InitialEntry> entries() {
    List<InitialEntry> made = new ArrayList<>();
    for (int task = 0; task < grouping.tasks(); task++) {
      long owner = grouping.of(kept.subtopology(), task);
      for (Map.Entry<Byte, Map<Integer, byte[]>> part : parts.entrySet()) {
        Collection<byte[]> before = of(task, part.getValue()).values();
        if (!before.isEmpty() && part.getKey() != TOLD_BEFORE) {
          made.add(entry(owner, part.getKey(), together(part.getKey(), before, owner)));
        }
      }
      if (form == StateRepartitioner.Form.CLOSING) {
        MigratedEmittedPosition told = migratedPosition(task);
        if (!told.isEmpty()) {
          made.add(entry(owner, TOLD_BEFORE, told.bytes()));
        }
      }
    }
    return made;
  }

  private InitialEntry entry(long owner, byte part, byte[] value) {
    return form.isOfProcessor()
        ? new InitialEntry(owner, grouping.bucket(owner, 0), kept.becomes(), ownKey, value)
        : new InitialEntry(owner, owner, kept.becomes(), new byte[] {part}, value);
  }

  /** Returns the state of the earlier tasks with which a task may share keys. */
  private Map<Integer, byte[]> of(int task, Map<Integer, byte[]> before) {
    int shared = gcd(kept.tasksBefore(), grouping.tasks());
    Map<Integer, byte[]> found = new TreeMap<>(before);
    found.keySet().removeIf(other -> other % shared != task % shared);
    return found;
  }

  private static int gcd(int one, int other) {
    return other == 0 ? one : gcd(other, one % other);
  }

  private byte[] together(byte part, Collection<byte[]> before, long owner) {
    if (form.isOfProcessor()) {
      return ProcessorStateMigration.together(form, before);
    }
    return switch (part) {
      case TIME ->
          form == StateRepartitioner.Form.CLOSING ? closing(before) : longs(greatest(before));
      case BUCKETS -> buckets(before);
      case COUNTS ->
          form == StateRepartitioner.Form.WAITING
              ? longs((greatest(before) + 1) * kept.tasksBefore())
              : longs(counted.getOrDefault(owner, new long[2]));
      case IDLE -> idle(before);
      default ->
          throw new IllegalStateException(
              "store " + kept.store() + " has state of a task that cannot be moved: " + part);
    };
  }

  /** Returns stream time, and the position that all of them have reached. */
  private static byte[] closing(Collection<byte[]> times) {
    long time =
        times.stream().mapToLong(each -> ByteBuffer.wrap(each).getLong()).max().orElseThrow();
    EmittedPosition least =
        EmittedPosition.least(times.stream().map(TaskStateMigration::emittedPosition).toList());
    ByteBuffer together = ByteBuffer.allocate(Long.BYTES + least.size()).putLong(time);
    least.write(together);
    return together.array();
  }

  /** Returns the position that a task has reached, which follows its stream time. */
  private static EmittedPosition emittedPosition(byte[] time) {
    return new EmittedPosition(ByteBuffer.wrap(time, Long.BYTES, time.length - Long.BYTES));
  }

  /** Returns what some of the earlier tasks have emitted beyond the least position. */
  private MigratedEmittedPosition migratedPosition(int task) {
    Map<Integer, EmittedPosition> told = new TreeMap<>();
    of(task, parts.getOrDefault(TIME, Map.of()))
        .forEach((of, time) -> told.put(of, emittedPosition(time)));
    List<MigratedEmittedPosition> earlier =
        of(task, parts.getOrDefault(TOLD_BEFORE, Map.of())).values().stream()
            .map(bytes -> new MigratedEmittedPosition(ByteBuffer.wrap(bytes)))
            .toList();
    return MigratedEmittedPosition.of(
        told, earlier, kept.tasksBefore(), EmittedPosition.least(told.values()));
  }

  private long greatest(Collection<byte[]> numbers) {
    long greatest = Long.MIN_VALUE;
    for (byte[] number : numbers) {
      if (number.length != Long.BYTES) {
        throw new IllegalStateException(
            "store " + kept.store() + " has already emitted results of its own tasks");
      }
      greatest = Math.max(greatest, ByteBuffer.wrap(number).getLong());
    }
    return greatest;
  }

  /** Concatenated: the reader sorts them, whatever their {@code TaskTime.Form}. */
  private byte[] buckets(Collection<byte[]> before) {
    int head = form == StateRepartitioner.Form.EXPIRING ? Long.BYTES : 0;
    int size = before.stream().mapToInt(each -> each.length - head).sum();
    ByteBuffer all = ByteBuffer.allocate(head + size);
    for (byte[] each : before) {
      ByteBuffer read = ByteBuffer.wrap(each);
      if (head > 0) {
        long bucketMs = read.getLong();
        if (all.position() == 0) {
          all.putLong(bucketMs);
        } else if (all.getLong(0) != bucketMs) {
          throw new IllegalArgumentException(
              String.format(
                  "tasks of store %s have their rows in buckets of %d and of %d ms, as its time to"
                      + " live has changed: they cannot be merged",
                  kept.store(), all.getLong(0), bucketMs));
        }
      }
      all.put(read);
    }
    return all.array();
  }

  private static byte[] idle(Collection<byte[]> before) {
    long since = Long.MAX_VALUE;
    long latest = Long.MIN_VALUE;
    long end = Long.MIN_VALUE;
    for (byte[] one : before) {
      ByteBuffer read = ByteBuffer.wrap(one);
      long known = read.getLong();
      since = Math.min(since, known);
      latest = Math.max(latest, known);
      end = Math.max(end, read.getLong());
    }
    // A negative value is not a time: there was a record since the last tick, or no tick is known.
    return longs(since < 0 ? since : latest, end);
  }

  private static byte[] longs(long... numbers) {
    ByteBuffer bytes = ByteBuffer.allocate(numbers.length * Long.BYTES);
    for (long number : numbers) {
      bytes.putLong(number);
    }
    return bytes.array();
  }
}
