package org.duolog.kernel.store;

import java.util.Arrays;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.unsafe.Platform;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/**
 * The records of one side of a stream-stream join that have no partner yet; emitted when their
 * windows close.
 *
 * <p>They are emitted by time, then by the bytes of their keys, then in order of arrival. A bucket
 * is a small part of the window; the keys of the earliest bucket are sorted in memory once it has
 * been accessed. The store of the left side also keeps the stream time of both sides. Threads: one
 * at a time. Source: the outer join store of Kafka Streams KStreamKStreamJoin.
 */
public final class UnmatchedJoinRows implements Store {
  private static final long serialVersionUID = 1L;
  private static final long SHORTEST_BUCKET_MS = 1000;
  private static final int BUCKETS_PER_WINDOW = 16;

  private final String name;
  private final int keyColumns;
  private final int rowColumns;
  private final RowLists lists;
  private transient Function<UnsafeRow, byte[]> order;
  private transient long task;
  private transient Head head;

  /** @param windowMs the length of the window; part of the checkpoint format */
  public UnmatchedJoinRows(
      String name, int keyColumns, int rowColumns, long windowMs, Grouping grouping) {
    this.name = name;
    this.keyColumns = keyColumns;
    this.rowColumns = rowColumns;
    long bucketMs = Math.max(SHORTEST_BUCKET_MS, windowMs / BUCKETS_PER_WINDOW);
    this.lists = new RowLists(name, bucketMs, grouping);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    lists.attach(state);
  }

  @Override
  public void open(NodeContext scope) {
    lists.open(scope.realTime);
    head = null;
  }

  /** Sets the bytes by which keys are ordered; to be called after each open. */
  public void orderBy(Function<UnsafeRow, byte[]> keyBytes) {
    order = keyBytes;
  }

  @Override
  public void select(long grouping) {
    if (grouping != task) {
      head = null;
    }
    task = grouping;
    lists.select(grouping);
  }

  /** Advances time to a record of either side. */
  public void observe(long ts) {
    lists.time().observe(ts);
    if (lists.writesThrough()) {
      lists.time().write();
    }
  }

  /** Returns the greatest timestamp of either side. */
  public long time() {
    return lists.time().time();
  }

  public void add(UnsafeRow key, UnsafeRow row, long ts) {
    long bucket = lists.time().bucket(ts);
    UnsafeRow place = place(key, ts);
    lists.add(lists.of(bucket, place), row, ts);
    if (head != null && head.bucket == bucket) {
      head.keys.put(new Place(ts, order.apply(key)), place);
    }
  }

  /** Removes the records of a key and time, which have found a partner. */
  public void remove(UnsafeRow key, long ts) {
    long bucket = lists.time().bucket(ts);
    if (lists.time().has(bucket)) {
      RowList list = lists.find(bucket, place(key, ts));
      if (list != null && !list.isEmpty()) {
        lists.clear(list);
        if (head != null && head.bucket == bucket) {
          head.keys.remove(new Place(ts, order.apply(key)));
        }
      }
    }
  }

  /**
   * Returns the time of the first waiting records if it is before a time; otherwise the greatest
   * number.
   */
  public long first(long before) {
    TaskTime time = lists.time();
    while (!time.isEmpty() && time.start(time.first()) < before) {
      load(time.first());
      if (!head.keys.isEmpty()) {
        long ts = head.keys.firstKey().ts;
        return ts < before ? ts : Long.MAX_VALUE;
      }
      time.remove(head.bucket);
      head = null;
    }
    return Long.MAX_VALUE;
  }

  /**
   * Removes the first waiting records, which share key and time, and passes them to the visitor.
   */
  public void take(Visitor visitor) {
    UnsafeRow place = head.keys.pollFirstEntry().getValue();
    RowList list = lists.of(head.bucket, place);
    UnsafeRow key = new UnsafeRow(keyColumns);
    key.pointTo(place.getBytes(), place.getSizeInBytes() - Long.BYTES);
    list.visit(rowColumns, (row, ts) -> visitor.visit(key, row, ts));
    lists.clear(list);
  }

  /** Receives an unmatched record. */
  public interface Visitor {
    void visit(UnsafeRow key, UnsafeRow row, long ts);
  }

  @Override
  public void flush() {
    lists.flush();
    head = null;
  }

  private void load(long bucket) {
    if (head == null || head.bucket != bucket) {
      head = new Head(bucket, new TreeMap<>());
      for (UnsafeRow place : lists.keys(bucket)) {
        byte[] bytes = place.getBytes();
        int at = bytes.length - Long.BYTES;
        UnsafeRow key = new UnsafeRow(keyColumns);
        key.pointTo(bytes, at);
        long ts = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at);
        head.keys.put(new Place(ts, order.apply(key)), place);
      }
    }
  }

  /** Returns the key of the list of records that share key and time. */
  private static UnsafeRow place(UnsafeRow key, long ts) {
    int size = key.getSizeInBytes();
    byte[] bytes = new byte[size + Long.BYTES];
    key.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + size, ts);
    return RowList.raw(bytes);
  }

  @Override
  public String toString() {
    return "store " + name;
  }

  private record Head(long bucket, TreeMap<Place, UnsafeRow> keys) {}

  private record Place(long ts, byte[] key) implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      int order = Long.compare(ts, other.ts);
      return order == 0 ? Arrays.compareUnsigned(key, other.key) : order;
    }
  }
}
