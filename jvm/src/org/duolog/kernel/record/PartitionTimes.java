package org.duolog.kernel.record;

import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The time of each partition of a source: the largest timestamp among the records before an offset.
 *
 * <p>A task works on one micro-batch or epoch, and what it has seen is kept in this JVM, by the offset
 * where it ended. So a micro-batch that is run again begins with the same time. A JVM that has not read
 * what was before knows none. Threads: one {@link Reader} is one task's.
 *
 * <p>Source: Kafka Streams RecordQueue, which keeps the time beside the committed offset.
 */
public final class PartitionTimes {
  public static final long UNKNOWN = -1;
  private static final int ENDS_MAX = 16;
  private static final Map<Key, NavigableMap<Long, Long>> BY_PARTITION = new ConcurrentHashMap<>();

  private PartitionTimes() {}

  private record Key(String applicationId, int source, int partition) {}

  /** The application starts anew. */
  public static void forget(String applicationId) {
    BY_PARTITION.keySet().removeIf(key -> key.applicationId.equals(applicationId));
  }

  /** What a task sees of a source. */
  public static final class Reader {
    private final String applicationId;
    private final int source;
    private final Map<Integer, Seen> seen = new HashMap<>();

    public Reader(String applicationId, int source) {
      this.applicationId = applicationId;
      this.source = source;
    }

    /** The time of the partition when it comes to a record. */
    public long before(SourceRecord record) {
      return of(record).time;
    }

    /** A record of this time has been read. */
    public void observe(SourceRecord record, long ts) {
      Seen of = of(record);
      of.time = Math.max(of.time, ts);
      of.next = record.getOffset() + 1;
    }

    /** The task has ended, for now: what it has seen is there for the next one. */
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
