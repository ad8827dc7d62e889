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
 * The records of one side of a join of streams, by key and time: for those of the other side that come
 * later. Several of one key and time stay beside each other.
 *
 * <p>A record is kept until stream time, which is that of this side, has moved on by window and grace
 * period. A bucket is as long as the window, so that partners are in two or three of them; one whose
 * records have all expired is deleted, as {@code WindowRows} does. Threads: one at a time. Source: Kafka
 * Streams InMemoryWindowStore and RocksDBWindowStore, which retain duplicates for joins.
 */
public final class JoinRows implements Store {
  private static final long serialVersionUID = 1L;
  private static final long SHORTEST_BUCKET_MS = 1000;
  private static final int EXPIRED_PER_RECORD = 64;
  private static final Comparator<Found> BY_TIME = Comparator.comparingLong(Found::ts);

  private final String name;
  private final int rowColumns;
  private final long keptMs;
  private final RowLists lists;

  /**
   * @param windowMs how long the window is; part of the checkpoint
   * @param keptMs how long a record is kept; no part of it
   */
  public JoinRows(String name, int rowColumns, long windowMs, long keptMs, Grouping grouping) {
    this.name = name;
    this.rowColumns = rowColumns;
    this.keptMs = keptMs;
    this.lists = new RowLists(name, Math.max(SHORTEST_BUCKET_MS, windowMs), grouping);
  }

  /** A record that was kept; its row is valid as long as the caller wants. */
  public record Found(UnsafeRow row, long ts) {}

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

  /** A record was seen: moves stream time on, and in real time lets go of some of what has expired. */
  public void observe(long ts) {
    lists.time().observe(ts);
    if (lists.writesThrough()) {
      lists.expire(this::hasExpired, EXPIRED_PER_RECORD);
      lists.time().write();
    }
  }

  /** Keeps a copy of a record; tells whether it was not too late for that. */
  public boolean add(UnsafeRow key, UnsafeRow row, long ts) {
    observe(ts);
    if (ts < firstKept()) {
      return false;
    }
    lists.add(lists.of(lists.time().bucket(ts), key), row, ts);
    return true;
  }

  /** The records of a key with times from first to last, by time and then as they came. */
  public List<Found> find(UnsafeRow key, long first, long last) {
    long from = Math.max(first, firstKept());
    List<Found> found = new ArrayList<>();
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

  private void visit(RowList list, long first, long last, List<Found> found) {
    int before = found.size();
    list.visit(
        rowColumns,
        (row, ts) -> {
          if (ts >= first && ts <= last) {
            found.add(new Found(row, ts));
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
