package org.duolog.kernel.store;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/**
 * The records of one side of a stream-stream join by key and time, for later records of the other
 * side. Several records may share key and time.
 *
 * <p>A record is kept until stream time, which is that of this side, has passed it by window and
 * grace period. A bucket is as long as the window, so partners are in two or three buckets. A
 * bucket whose records have all expired is deleted, as {@code WindowRows} does. Threads: one at a
 * time. Source: Kafka Streams InMemoryWindowStore and RocksDBWindowStore, which retain duplicates
 * for joins.
 */
public final class StreamJoinRows implements Store {
  private static final long serialVersionUID = 1L;
  private static final long SHORTEST_BUCKET_MS = 1000;
  private static final int EXPIRED_PER_RECORD = 64;
  private static final Comparator<StoredRecord> BY_TIME =
      Comparator.comparingLong(StoredRecord::ts);

  private final String name;
  private final int rowColumns;
  private final long keptMs;
  private final RowLists lists;

  /**
   * @param windowMs the length of the window; part of the checkpoint format
   * @param keptMs how long a record is kept; not part of the format
   */
  public StreamJoinRows(
      String name, int rowColumns, long windowMs, long keptMs, Grouping grouping) {
    this.name = name;
    this.rowColumns = rowColumns;
    this.keptMs = keptMs;
    this.lists = new RowLists(name, Math.max(SHORTEST_BUCKET_MS, windowMs), grouping);
  }

  /** A stored record; its row stays valid. */
  public record StoredRecord(UnsafeRow row, long ts) {}

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
  }

  @Override
  public void select(long grouping) {
    lists.select(grouping);
  }

  /** Advances stream time to a record, and in real time deletes some expired records. */
  public void observe(long ts) {
    lists.time().observe(ts);
    if (lists.writesThrough()) {
      lists.expire(this::hasExpired, EXPIRED_PER_RECORD);
      lists.time().write();
    }
  }

  /** Stores a copy of a record; returns false if it is too late. */
  public boolean add(UnsafeRow key, UnsafeRow row, long ts) {
    observe(ts);
    if (ts < firstKept()) {
      return false;
    }
    lists.add(lists.of(lists.time().bucket(ts), key), row, ts);
    return true;
  }

  /** Returns the records of a key with timestamps in [first, last], by time and then by arrival. */
  public List<StoredRecord> find(UnsafeRow key, long first, long last) {
    long from = Math.max(first, firstKept());
    List<StoredRecord> found = new ArrayList<>();
    if (from <= last) {
      for (long bucket : lists.time().between(from, last)) {
        RowList list = lists.find(bucket, key);
        if (list != null) {
          visit(list, from, last, found);
        }
      }
    }
    return found;
  }

  private void visit(RowList list, long first, long last, List<StoredRecord> found) {
    int before = found.size();
    list.visit(
        rowColumns,
        (row, ts) -> {
          if (ts >= first && ts <= last) {
            found.add(new StoredRecord(row, ts));
          }
        });
    found.subList(before, found.size()).sort(BY_TIME);
  }

  @Override
  public void flush() {
    lists.expire(this::hasExpired, Integer.MAX_VALUE);
    lists.flush();
  }

  private long firstKept() {
    return lists.time().time() - keptMs + 1;
  }

  private boolean hasExpired(long bucket) {
    return lists.time().end(bucket) <= firstKept();
  }

  @Override
  public String toString() {
    return "store " + name;
  }
}
