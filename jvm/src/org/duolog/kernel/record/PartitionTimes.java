package org.duolog.kernel.record;

import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The time of each partition of a source: the largest timestamp of the records before an offset.
 *
 * <p>A task processes one micro-batch or epoch. The time that it has reached is kept in this JVM,
 * by the offset where the task ended, so a retried micro-batch starts with the same time. A JVM
 * that has not read the earlier records does not know it. Threads: each {@link Reader} belongs to
 * one task.
 *
 * <p>Source: Kafka Streams RecordQueue, which keeps the time with the committed offset.
 */
public final class PartitionTimes {
  public static final long UNKNOWN = -1;
  private static final int ENDS_MAX = 16;
  private static final Map<Key, NavigableMap<Long, Long>> BY_PARTITION = new ConcurrentHashMap<>();

  private PartitionTimes() {}

  private record Key(String applicationId, int source, int partition) {}

  /** Forgets all times of an application that starts again. */
  public static void forget(String applicationId) {
    BY_PARTITION.keySet().removeIf(key -> key.applicationId.equals(applicationId));
  }

  /** The times of a source as one task sees them. */
  public static final class Reader {
    private final String applicationId;
    private final int source;
    private final Map<Integer, Seen> seen = new HashMap<>();

    public Reader(String applicationId, int source) {
      this.applicationId = applicationId;
      this.source = source;
    }

    /** Returns the time of the partition before a record. */
    public long before(SourceRecord record) {
      return of(record).time;
    }

    /** Takes note of the timestamp of a record. */
    public void observe(SourceRecord record, long ts) {
      Seen of = of(record);
      of.time = Math.max(of.time, ts);
      of.next = record.getOffset() + 1;
    }

    /** Keeps the times for the next task, when this one ends. */
    public void keep() {
      seen.forEach(
          (partition, of) -> {
            NavigableMap<Long, Long> ends = ends(partition);
            synchronized (ends) {
              ends.put(of.next, of.time);
              while (ends.size() > ENDS_MAX) {
                ends.pollFirstEntry();
              }
            }
          });
      seen.clear();
    }

    private Seen of(SourceRecord record) {
      return seen.computeIfAbsent(
          record.getPartition(), partition -> known(partition, record.getOffset()));
    }

    private Seen known(int partition, long offset) {
      NavigableMap<Long, Long> ends = ends(partition);
      synchronized (ends) {
        Map.Entry<Long, Long> before = ends.floorEntry(offset);
        return new Seen(before == null ? UNKNOWN : before.getValue(), offset);
      }
    }

    private NavigableMap<Long, Long> ends(int partition) {
      return BY_PARTITION.computeIfAbsent(
          new Key(applicationId, source, partition), unused -> new TreeMap<>());
    }
  }

  private static final class Seen {
    long time;
    long next;

    Seen(long time, long next) {
      this.time = time;
      this.next = next;
    }
  }
}
