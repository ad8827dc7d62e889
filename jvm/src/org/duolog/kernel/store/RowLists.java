package org.duolog.kernel.store;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongPredicate;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.Grouping;

/**
 * The lists of rows of a store in time buckets, separately for each task, and the task's time.
 *
 * <pre>
 *   (task, bucket), key bytes ++ number of a chunk (8 bytes)  ->  chunk of a {@link RowList}
 * </pre>
 *
 * <p>In a micro-batch changes are written at its end, in real time at once. Lists that were read
 * stay in memory until then, up to a bound. Threads: one at a time.
 */
final class RowLists implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long BYTES_MAX = 64L << 20;
  private static final int OVERHEAD_BYTES = 160;

  private final BucketStore state;
  private final long bucketMs;
  private transient MapState<byte[], byte[]> times;
  private transient boolean writeThrough;
  private transient Map<Long, Task> tasks;
  private transient Task task;

  /** @param bucketMs the length of a bucket; part of the checkpoint format */
  RowLists(String name, long bucketMs, Grouping grouping) {
    this.bucketMs = bucketMs;
    this.state = new BucketStore(name, 0, 0, grouping);
  }

  void attach(MapState<byte[], byte[]> map) {
    times = map;
    state.attach(map);
  }

  void open(boolean writesThrough) {
    writeThrough = writesThrough;
    tasks = new HashMap<>();
  }

  void select(long grouping) {
    state.select(grouping);
    task = tasks.computeIfAbsent(grouping, unused -> new Task(loaded()));
  }

  private TaskTime loaded() {
    return new TaskTime(times, bucketMs, TaskTime.Form.RUNS);
  }

  TaskTime time() {
    return task.time;
  }

  boolean writesThrough() {
    return writeThrough;
  }

  /** Returns the list for reading; null if there is certainly none. */
  RowList find(long bucket, UnsafeRow key) {
    Map<UnsafeRow, RowList> known = task.lists.get(bucket);
    boolean mayBeThere = task.stored.contains(bucket) || known != null && known.containsKey(key);
    return mayBeThere ? of(bucket, key) : null;
  }

  /** Returns the list of a key in a bucket, which may be empty. Valid until the next call. */
  RowList of(long bucket, UnsafeRow key) {
    Map<UnsafeRow, RowList> known = task.lists.computeIfAbsent(bucket, unused -> new HashMap<>());
    RowList list = known.get(key);
    if (list == null) {
      if (task.bytes > BYTES_MAX) {
        forget();
        known = task.lists.computeIfAbsent(bucket, unused -> new HashMap<>());
      }
      list = new RowList(bucket, key.copy());
      if (task.stored.contains(bucket)) {
        list.read(state);
      }
      known.put(list.key, list);
      task.bytes += OVERHEAD_BYTES + list.bytes();
    }
    return list;
  }

  void add(RowList list, UnsafeRow row, long ts) {
    task.time.add(list.bucket);
    task.bytes += row.getSizeInBytes();
    boolean wasDirty = list.isDirty();
    list.add(row, ts);
    changed(list, wasDirty);
  }

  void clear(RowList list) {
    boolean wasDirty = list.isDirty();
    list.clear();
    changed(list, wasDirty);
  }

  /** Returns the keys of all lists of a bucket that are not empty. */
  Set<UnsafeRow> keys(long bucket) {
    for (RowList list : task.lists.getOrDefault(bucket, Map.of()).values()) {
      write(list);
    }
    Set<UnsafeRow> found = new HashSet<>();
    for (Iterator<UnsafeRow> all = state.keys(bucket); all.hasNext(); ) {
      UnsafeRow key = RowList.ofFirstChunk(all.next());
      if (key != null) {
        found.add(key);
      }
    }
    return found;
  }

  /** Deletes up to {@code chunksMax} chunks of expired buckets, which receive no more rows. */
  void expire(LongPredicate hasExpired, int chunksMax) {
    task.time.expire(chunksMax, hasExpired, this::dropped, state::delete);
  }

  /** Returns the keys of a bucket in the state, and drops the bucket from memory. */
  private Iterator<UnsafeRow> dropped(long bucket) {
    task.drop(bucket);
    return state.keys(bucket);
  }

  void flush() {
    forget();
    task.time.write();
  }

  private void changed(RowList list, boolean wasDirty) {
    if (writeThrough) {
      write(list);
      task.time.write();
    } else if (!wasDirty) {
      task.dirty.add(list);
    }
  }

  /** Writes changes, and drops what was read. */
  private void forget() {
    task.dirty.forEach(this::write);
    task.dirty.clear();
    task.lists.clear();
    task.bytes = 0;
  }

  private void write(RowList list) {
    if (list.isDirty()) {
      task.stored.add(list.bucket);
      list.write(state);
    }
  }

  private static final class Task {
    final TaskTime time;
    final Map<Long, Map<UnsafeRow, RowList>> lists = new HashMap<>();
    final List<RowList> dirty = new ArrayList<>();

    /** The buckets that may have lists in the state; others need no read. */
    final Set<Long> stored = new HashSet<>();

    long bytes;

    Task(TaskTime time) {
      this.time = time;
      time.all().forEach(stored::add);
    }

    void drop(long bucket) {
      Map<UnsafeRow, RowList> dropped = lists.remove(bucket);
      if (dropped != null) {
        dropped.values().forEach(RowList::forget);
      }
    }
  }
}
