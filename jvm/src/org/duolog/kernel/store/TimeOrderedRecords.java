package org.duolog.kernel.store;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/**
 * Records of a stream that wait until stream time has advanced far enough, the earliest first.
 *
 * <pre>
 *   (task, bucket), (timestamp, number)  ->  bytes of its key, key, value, headers, origin;
 *                                            timestamp
 *   task, 0; task, 1                     ->  {@link TaskTime}
 *   task, 2                              ->  the number of the next record, in 8 bytes
 * </pre>
 *
 * <p>Equal timestamps are ordered by the bytes of the keys, as in Kafka Streams, then by arrival.
 * For the first bucket, time and key of each record are in memory; the record is read when it is
 * due. All accesses go to Spark's state directly, in both modes.
 *
 * <p>Threads: one at a time. Source: Kafka Streams RocksDBTimeOrderedKeyValueBuffer.
 */
public final class TimeOrderedRecords implements Store {
  private static final long serialVersionUID = 1L;
  private static final byte[] NEXT = {2};
  private static final int PARTS = 5;

  private final String name;
  private final int keyColumns;
  private final int valueColumns;
  private final BucketStore rows;
  private final long bucketMs;
  private transient MapState<byte[], byte[]> state;
  private transient Map<Long, Task> tasks;
  private transient Task task;
  private transient UnsafeRowWriter writer;

  public TimeOrderedRecords(
      String name, int keyColumns, int valueColumns, Grouping grouping, long bucketMs) {
    this.name = name;
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
    this.rows = new BucketStore(name, 2, PARTS, grouping);
    this.bucketMs = bucketMs;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
    rows.attach(state);
  }

  @Override
  public void open(NodeContext scope) {
    tasks = new HashMap<>();
    writer = new UnsafeRowWriter(PARTS);
  }

  @Override
  public void select(long grouping) {
    rows.select(grouping);
    task = tasks.computeIfAbsent(grouping, unused -> load());
  }

  @Override
  public void flush() {
    write();
  }

  /** Writes the state that a restart needs in addition to the records. */
  public void write() {
    task.time.write();
    if (task.counted) {
      state.updateValue(NEXT, bytes(task.next));
      task.counted = false;
    }
  }

  /** Returns the greatest timestamp of all records so far; negative before the first. */
  public long streamTime() {
    return task.time.time();
  }

  /** Stores a record, and advances stream time to it. */
  public void put(byte[] keyBytes, Change change, byte[] origin) {
    Position place = new Position(change.ts, keyBytes, task.next++);
    task.counted = true;
    task.time.observe(change.ts);
    long bucket = task.time.bucket(change.ts);
    task.time.add(bucket);
    byte[][] parts = {
      keyBytes, change.key.getBytes(), change.value.getBytes(), change.headers, origin
    };
    rows.put(bucket, place.row(), row(parts), change.ts);
    if (task.front != null && task.bucket == bucket) {
      task.front.add(place);
    }
  }

  /** Removes and returns the first record up to a time; null if there is none. */
  public Taken take(long time) {
    TaskTime known = task.time;
    while (!known.isEmpty() && known.start(known.first()) <= time) {
      long bucket = known.first();
      if (task.front == null || task.bucket != bucket) {
        task.front = places(bucket);
        task.bucket = bucket;
      }
      if (task.front.isEmpty()) {
        task.front = null;
        known.remove(bucket);
      } else {
        return task.front.first().ts > time ? null : take(bucket, task.front.pollFirst());
      }
    }
    return null;
  }

  private Taken take(long bucket, Position place) {
    UnsafeRow key = place.row();
    UnsafeRow row = rows.get(bucket, key);
    rows.delete(bucket, key);
    return new Taken(
        unsafe(row.getBinary(1), keyColumns),
        unsafe(row.getBinary(2), valueColumns),
        place.ts,
        row.isNullAt(3) ? null : row.getBinary(3),
        row.isNullAt(4) ? null : row.getBinary(4));
  }

  private TreeSet<Position> places(long bucket) {
    TreeSet<Position> found = new TreeSet<>(Position.IN_ORDER);
    rows.scan(
        bucket,
        (key, row, ts) -> {
          // Distant buckets may share a number.
          if (task.time.bucket(ts) == bucket) {
            found.add(new Position(ts, row.getBinary(0), key.getLong(1)));
          }
        });
    return found;
  }

  private Task load() {
    TaskTime time = new TaskTime(state, bucketMs, TaskTime.Form.EACH);
    return new Task(time, number(state.getValue(NEXT)));
  }

  private UnsafeRow row(byte[][] parts) {
    writer.reset();
    writer.zeroOutNullBytes();
    for (int i = 0; i < parts.length; i++) {
      if (parts[i] == null) {
        writer.setNullAt(i);
      } else {
        writer.write(i, parts[i]);
      }
    }
    return writer.getRow();
  }

  private static UnsafeRow unsafe(byte[] bytes, int columns) {
    UnsafeRow row = new UnsafeRow(columns);
    row.pointTo(bytes, bytes.length);
    return row;
  }

  private static long number(byte[] bytes) {
    return bytes == null ? 0 : ByteBuffer.wrap(bytes).getLong();
  }

  private static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  @Override
  public String toString() {
    return "store " + name;
  }

  /** A record that no longer waits. */
  public record Taken(UnsafeRow key, UnsafeRow value, long ts, byte[] headers, byte[] origin) {}

  /** The position of a record among the waiting ones. */
  private record Position(long ts, byte[] keyBytes, long number) {
    static final Comparator<Position> IN_ORDER =
        Comparator.comparingLong(Position::ts)
            .thenComparing(Position::keyBytes, Arrays::compareUnsigned)
            .thenComparingLong(Position::number);

    UnsafeRow row() {
      UnsafeRow row =
          UnsafeRow.createFromByteArray(
              UnsafeRow.calculateBitSetWidthInBytes(2) + 2 * Long.BYTES, 2);
      row.setLong(0, ts);
      row.setLong(1, number);
      return row;
    }
  }

  /** The state of a task: the number of its next record, and the records of its first bucket. */
  private static final class Task {
    final TaskTime time;
    long next;
    boolean counted;
    long bucket;
    TreeSet<Position> front;

    Task(TaskTime time, long next) {
      this.time = time;
      this.next = next;
    }
  }
}
