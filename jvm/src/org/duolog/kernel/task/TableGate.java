package org.duolog.kernel.task;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.TaskContext;
import org.duolog.kernel.metrics.Metrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In real time, makes a stream's record wait for table rows that were written before it.
 *
 * <p>Tasks read each topic at their own pace, so a record would overtake thousands of rows that
 * were written long before it. The broker is asked for its end offsets once for all records that it
 * has by then; the stream continues when the tables have been read up to them and the rows are in
 * their stores.
 *
 * <p>Used if all tasks of an application run in this JVM ({@link #open}). At the end of an epoch
 * tables are not read any further until the stream's task has ended too, so streams do not wait
 * then. Threads: any. Source: Kafka Streams waits for the data that the broker has of each input
 * (KIP-695).
 */
public final class TableGate {
  private static final Logger LOGGER = LoggerFactory.getLogger(TableGate.class);
  private static final Map<String, TableGate> OPEN = new ConcurrentHashMap<>();
  private static final long GLANCE_NS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(10);
  private static final long NAP_NS = TimeUnit.MICROSECONDS.toNanos(100);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final String applicationId;
  private final Set<String> tables;
  private final TopicEnds ends;
  private final Collection<TopicPartition> partitions = new ArrayList<>();
  private final Map<TopicPartition, Long> starts;
  private final Map<TopicPartition, Long> cleared = new ConcurrentHashMap<>();
  private final Map<TopicPartition, Long> settled = new ConcurrentHashMap<>();
  private final LongAdder sent = new LongAdder();
  private final LongAdder arrived = new LongAdder();
  private final LongAdder ended = new LongAdder();
  private volatile Ends last = new Ends(System.nanoTime(), Map.of());

  private TableGate(
      String applicationId,
      Collection<String> tables,
      Collection<String> streams,
      String starts,
      Consumer<byte[], byte[]> consumer) {
    this.applicationId = applicationId;
    this.starts = SourceOffsets.read(starts);
    this.tables = Set.copyOf(tables);
    this.ends = new TopicEnds(consumer);
    for (Collection<String> topics : List.of(streams, tables)) {
      for (String topic : topics) {
        consumer
            .partitionsFor(topic, TIMEOUT)
            .forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
      }
    }
  }

  /**
   * Opens the gate of an application whose tasks all run in this JVM, and closes an earlier one.
   *
   * @param starts the offsets where the query starts to read, in Spark's JSON
   */
  public static void open(
      String applicationId,
      List<String> tables,
      List<String> streams,
      String starts,
      Map<String, String> config) {
    open(applicationId, tables, streams, starts, TopicEnds.consumer(config));
  }

  /** The same with this consumer. */
  static void open(
      String applicationId,
      List<String> tables,
      List<String> streams,
      String starts,
      Consumer<byte[], byte[]> consumer) {
    close(applicationId);
    OPEN.put(applicationId, new TableGate(applicationId, tables, streams, starts, consumer));
  }

  /** Removes the gate; waiting records continue. */
  public static void close(String applicationId) {
    TableGate gate = OPEN.remove(applicationId);
    if (gate != null) {
      gate.ends.close();
    }
  }

  /** Returns the gate; null if nothing waits. */
  public static TableGate of(String applicationId) {
    return OPEN.get(applicationId);
  }

  public boolean isTable(String topic) {
    return tables.contains(topic);
  }

  /** Counts a table row that is on its way to a store. */
  public void sent() {
    sent.increment();
  }

  /** Counts a table row that has arrived in its store. */
  public void arrived() {
    arrived.increment();
  }

  /**
   * Counts a task that has read a table to the end of its epoch; later rows belong to the next
   * epoch.
   */
  public void ended() {
    ended.increment();
  }

  /** Returns the count of {@link #ended}; a task that reads a stream calls this at its start. */
  public long endedSoFar() {
    return ended.sum();
  }

  /**
   * Waits until the record of a stream at {@code offset} may continue, as long as all tables are
   * being read.
   */
  public void pass(String topic, int number, long offset, long endedAtStart) {
    TopicPartition partition = new TopicPartition(topic, number);
    if (offset < cleared.getOrDefault(partition, 0L)) {
      return;
    }
    try {
      Ends seen = endsSeenAfter(System.nanoTime());
      for (TopicPartition other : seen.offsets.keySet()) {
        if (tables.contains(other.topic())) {
          awaitRead(other, seen.offsets.get(other), endedAtStart);
        }
      }
      advances(arrived::sum, sent.sum(), PATIENCE_NS, endedAtStart);
      cleared.put(partition, Math.max(offset + 1, seen.offsets.getOrDefault(partition, 0L)));
    } catch (KafkaException | IllegalStateException e) {
      // The broker does not answer, or the gate is closed.
      LOGGER.debug("{}: {} does not wait for tables: {}", applicationId, partition, e.toString());
    }
  }

  private Ends endsSeenAfter(long time) {
    synchronized (this) {
      if (last.askedAt - time < 0) {
        long now = System.nanoTime();
        last = new Ends(now, ends.of(partitions));
      }
      return last;
    }
  }

  private void awaitRead(TopicPartition table, long end, long endedAtStart) {
    AtomicLong position = Metrics.of(applicationId).position(table.topic(), table.partition());
    long start = starts.getOrDefault(table, 0L);
    if (Math.max(position.get(), start) >= end || settled.getOrDefault(table, 0L) >= end) {
      return;
    }
    if (!advances(position::get, end, GLANCE_NS, endedAtStart)
        && !ends.holdsRecord(table, Math.max(position.get(), start), end)) {
      settled.put(table, end);
    } else if (!advances(position::get, end, PATIENCE_NS, endedAtStart)) {
      LOGGER.warn("{}: {} is not being read: streams do not wait for it", applicationId, table);
      settled.put(table, end);
    }
  }

  /**
   * Waits until a number reaches {@code wanted}; returns false if it stops growing for too long.
   */
  private boolean advances(
      LongSupplier number, long wanted, long patience, long endedAtStart) {
    long since = System.nanoTime();
    long seen = number.getAsLong();
    while (seen < wanted && ended.sum() == endedAtStart && !isOver()) {
      if (System.nanoTime() - since > patience) {
        return false;
      }
      LockSupport.parkNanos(NAP_NS);
      long now = number.getAsLong();
      if (now != seen) {
        seen = now;
        since = System.nanoTime();
      }
    }
    return true;
  }

  private boolean isOver() {
    TaskContext task = TaskContext.get();
    return Thread.currentThread().isInterrupted()
        || (task != null && task.isInterrupted())
        || OPEN.get(applicationId) != this;
  }

  /** The end offsets of partitions, and when they were fetched. */
  private record Ends(long askedAt, Map<TopicPartition, Long> offsets) {}
}
