package org.duolog.kernel.store;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.task.NodeContext;

/**
 * The changelogs of a level's stores: each entry that is written to Spark's state is also written
 * to the store's topic.
 *
 * <pre>
 *   partition = task
 *   key    0, key of the entry                      of the task itself
 *          1, bucket (8 bytes), key of the entry    of a bucket of the task
 *   value  that of the entry; null if it was removed
 *   header duolog.epoch: generation (4 bytes), epoch (8 bytes); all numbers big-endian
 * </pre>
 *
 * <p>Entries are those that stores write; with a record cache, those that are written back. So one
 * format serves every kind of store, and it depends neither on numbers of sub-topologies nor on
 * Spark's hashing. Entries leave through the same sink as results.
 *
 * <p>A generation is one start of a query on a checkpoint; its epochs are those of Spark's log.
 * Together they determine whether an entry was committed.
 *
 * <p>Threads: one at a time between opens. Source: Kafka Streams ProcessorStateManager; the format
 * is our own.
 */
public final class Changelog implements Serializable {
  private static final long serialVersionUID = 1L;

  public static final String EPOCH = "duolog.epoch";

  /** The epoch of entries that a restore writes: before all epochs of its generation. */
  public static final long BEFORE_ALL = -1;

  /** The local property in which MicroBatchExecution passes the epoch to its tasks. */
  private static final String EPOCH_OF_TASK = "streaming.sql.batchId";

  private static final byte OF_TASK = 0;
  private static final byte OF_BUCKET = 1;

  private final HashMap<String, Integer> sinks = new HashMap<>();
  private final int generation;
  private transient NodeContext scope;
  private transient byte[] headers;
  private transient long now;

  private Changelog(int generation) {
    this.generation = generation;
  }

  /** Returns the changelog of a spec; null if it has none. */
  public static Changelog of(Spec spec) {
    Changelog changelog = new Changelog(spec.generation());
    for (Spec.Output sink : spec.sinks()) {
      if (sink.store() != null) {
        changelog.sinks.put(sink.store(), sink.id());
      }
    }
    return changelog.sinks.isEmpty() ? null : changelog;
  }

  /** Returns the state of a store with logging of changes. */
  public MapState<byte[], byte[]> logged(String store, MapState<byte[], byte[]> state) {
    Integer sink = sinks.get(store);
    if (sink == null) {
      throw new IllegalArgumentException("store " + store + " has no changelog");
    }
    return new LoggedMap(state, (number, key, value) -> log(sink, number, key, value));
  }

  /** Starts a micro-batch or epoch, whose entries leave through this context. */
  public void open(NodeContext scope) {
    this.scope = scope;
    String epoch = TaskContext.get().getLocalProperty(EPOCH_OF_TASK);
    headers = header(generation, Long.parseLong(epoch));
    now = System.currentTimeMillis();
  }

  private void log(int sink, long number, byte[] key, byte[] value) {
    scope.emitToSink(entry(sink, scope.taskNumber(), number, key, value, now, headers));
  }

  /** Creates the record of an entry; {@code number} is the number under which Spark keeps it. */
  public static Envelope entry(
      int sink, int task, long number, byte[] key, byte[] value, long ts, byte[] headers) {
    return Envelope.toSink(sink, key(number, key), value, ts, headers, null, null, task);
  }

  public static byte[] header(int generation, long epoch) {
    List<Header> one = List.of(new RecordHeader(EPOCH, epoch(generation, epoch)));
    return Headers.encode(one);
  }

  /** Returns the value of the header. */
  public static byte[] epoch(int generation, long epoch) {
    return ByteBuffer.allocate(Integer.BYTES + Long.BYTES)
        .putInt(generation)
        .putLong(epoch)
        .array();
  }

  /**
   * Returns the key of an entry in its topic; {@code number} is the number under which Spark keeps
   * it.
   */
  public static byte[] key(long number, byte[] key) {
    if (number >= 0) {
      return ByteBuffer.allocate(1 + key.length).put(OF_TASK).put(key).array();
    }
    return ByteBuffer.allocate(1 + Long.BYTES + key.length)
        .put(OF_BUCKET)
        .putLong(Grouping.placeOfBucket(number))
        .put(key)
        .array();
  }

  /** The position of an entry in Spark's state. */
  public record StateKey(long number, byte[] key) {
    public static StateKey of(byte[] logged, Grouping grouping, long task) {
      ByteBuffer bytes = ByteBuffer.wrap(logged);
      boolean ofBucket = bytes.get() == OF_BUCKET;
      long number = ofBucket ? grouping.bucket(task, bytes.getLong()) : task;
      byte[] key = new byte[bytes.remaining()];
      bytes.get(key);
      return new StateKey(number, key);
    }
  }

  /** The header of an entry: the start of the query and the epoch in which it was written. */
  private record Epoch(int generation, long number) {
    /** Returns the epoch of an entry with these headers; null if they have none. */
    static Epoch of(org.apache.kafka.common.header.Headers headers) {
      Header header = headers.lastHeader(EPOCH);
      if (header == null) {
        return null;
      }
      ByteBuffer value = ByteBuffer.wrap(header.value());
      return new Epoch(value.getInt(), value.getLong());
    }
  }

  /** The last committed epoch of each generation. Threads: one at a time. */
  public static final class Committed implements Serializable {
    private static final long serialVersionUID = 1L;

    private final HashMap<Integer, Long> lasts = new HashMap<>();

    /** The latest generation that has reported to the commit topic. */
    private int newest = Integer.MIN_VALUE;

    private int generation = Integer.MIN_VALUE;
    private Long last;

    public Committed(List<List<Long>> generations) {
      generations.forEach(
          of -> {
            lasts.put(of.get(0).intValue(), of.get(1));
            newest = of.get(0).intValue();
          });
    }

    /** Returns a checker for the entries of one partition, to be called in their order. */
    InOrder inOrder() {
      return new InOrder();
    }

    /** Threads: as the enclosing instance. */
    final class InOrder {
      private int latest = Integer.MIN_VALUE;

      /** The first epoch of the newest generation, if no commit of that generation is known. */
      private long firstUnreported = BEFORE_ALL;

      /**
       * Returns true if the entry with these headers belongs to an epoch that cannot have started
       * by the known commits: a commit of the epoch before it must have been reported, and is lost.
       * At most one epoch can be unreported or uncommitted.
       */
      boolean isBeyond(org.apache.kafka.common.header.Headers headers) {
        Epoch epoch = Epoch.of(headers);
        if (epoch == null || epoch.number == BEFORE_ALL || epoch.generation < newest) {
          return false;
        }
        // Each start reports its generation before it writes.
        if (epoch.generation > newest) {
          return true;
        }
        long at = epoch.number;
        long told = lasts.get(newest);
        // Its first epoch continues the numbers of Spark's log.
        firstUnreported = firstUnreported == BEFORE_ALL ? at : firstUnreported;
        return at > (told == BEFORE_ALL ? firstUnreported : told + 1);
      }

      /**
       * Returns true if the entry with these headers was committed; false for an entry without an
       * epoch.
       *
       * <p>Entries that a restore has repaired belong to no committed epoch, and count. But a
       * restore that was delayed may write them after a later start has continued. Then they follow
       * entries of that start, and are outdated.
       */
      boolean has(org.apache.kafka.common.header.Headers headers) {
        Epoch epoch = Epoch.of(headers);
        if (epoch == null) {
          return false;
        }
        if (epoch.generation != generation) { // The entries of a generation are adjacent.
          generation = epoch.generation;
          last = lasts.get(generation);
        }
        latest = Math.max(latest, generation);
        return last != null
            && epoch.number <= last
            && (epoch.number != BEFORE_ALL || generation == latest);
      }
    }
  }

  /** Receives a change; a null value is a removal. */
  interface Note {
    void of(long number, byte[] key, byte[] value);
  }
}
