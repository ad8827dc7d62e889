package org.duolog.kernel.task;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.TaskContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * In real time, processes the records that a query finds when it goes live in the order of their
 * timestamps.
 *
 * <pre>
 *            step 1          step 2           step 3
 *   a-0    │ .012  .031    │ .055           │ .108
 *   a-1    │ .020          │ .051  .090     │ .131
 *          └───────────────┴────────────────┴─────
 * </pre>
 *
 * <p>Otherwise each partition would be read at its own pace, and the records of one would close
 * windows before the records of another arrive. A query finds what has arrived since the last
 * micro-batch ended. When that is processed, the query looks again, until it finds next to nothing.
 *
 * <p>A step is 50 ms long and begins at a multiple of 50 ms, so a window that closes at such a
 * multiple misses no record. The length doubles every {@value #STEPS_OF_A_LENGTH} steps: a step
 * costs milliseconds, and a wide range of timestamps must not take minutes.
 *
 * <p>Used if all tasks of an application run in this JVM ({@link #open}). When one task has reached
 * the end of its epoch, its partition is not read any further until all other tasks have ended
 * theirs. So they end them too: each processes the record that it waits with, and reads no other
 * one. Threads: any. Source: Kafka Streams PartitionGroup, and KIP-695.
 */
public final class StartOrder {
  private static final Logger LOGGER = LoggerFactory.getLogger(StartOrder.class);
  private static final Map<String, StartOrder> OPEN = new ConcurrentHashMap<>();
  private static final long STEP_MS = 50;
  private static final int STEPS_OF_A_LENGTH = 100;

  /** A query that has processed what it found within this time is level with the topics. */
  private static final long LEVEL_NS = TimeUnit.MILLISECONDS.toNanos(50);

  private static final long GLANCE_NS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(30);
  private static final long NAP_MS = 20;

  /** Set in a task that must not read on in its epoch. */
  private static final ThreadLocal<Boolean> STOPS = new ThreadLocal<>();

  private final String applicationId;
  private final long levelNs;
  private final long patienceNs;
  private final TopicEnds topics;
  private final Collection<TopicPartition> partitions;

  /** The next offset of each partition; the offset that it starts at, before its first record. */
  private final Map<TopicPartition, Long> positions;

  /**
   * The offset after the last record that was found, of partitions where that is not processed yet.
   */
  private final Map<TopicPartition, Long> ends = new HashMap<>();

  /** The timestamp of the last record of each partition that had to wait for its step. */
  private final Map<TopicPartition, Long> heads = new HashMap<>();

  /** Partitions of which the broker has said whether they still have a record. */
  private final Set<TopicPartition> checked = new HashSet<>();

  private final AtomicLong sent = new AtomicLong();
  private final AtomicLong processed = new AtomicLong();
  private long stepMs = STEP_MS;
  private long stepEnd = Long.MIN_VALUE;
  private int steps;
  private int looks;
  private long lookedAt;
  private long tookBefore;
  private long ended;
  private volatile long movedAt = System.nanoTime();
  private volatile boolean isOver;

  private StartOrder(
      String applicationId,
      Collection<TopicPartition> partitions,
      Map<TopicPartition, Long> starts,
      TopicEnds topics,
      long levelNs,
      long patienceNs) {
    this.applicationId = applicationId;
    this.partitions = List.copyOf(partitions);
    this.positions = new HashMap<>(starts);
    this.topics = topics;
    this.levelNs = levelNs;
    this.patienceNs = patienceNs;
  }

  /**
   * Opens the order of an application whose tasks all run in this JVM, and closes an earlier one.
   *
   * @param partitions those whose records are ordered, as Spark writes offsets; the offsets are not
   *     used
   * @param starts where the query begins to read, as Spark writes offsets
   */
  public static void open(
      String applicationId, String partitions, String starts, Map<String, String> config) {
    open(
        applicationId,
        SourceOffsets.read(partitions).keySet(),
        SourceOffsets.read(starts),
        TopicEnds.consumer(config),
        LEVEL_NS,
        PATIENCE_NS);
  }

  /**
   * The same with this consumer, and other times than {@link #LEVEL_NS} and {@link #PATIENCE_NS}.
   */
  static StartOrder open(
      String applicationId,
      Collection<TopicPartition> partitions,
      Map<TopicPartition, Long> starts,
      Consumer<byte[], byte[]> consumer,
      long levelNs,
      long patienceNs) {
    close(applicationId);
    StartOrder order =
        new StartOrder(
            applicationId, partitions, starts, new TopicEnds(consumer), levelNs, patienceNs);
    OPEN.put(applicationId, order);
    return order;
  }

  /** Ends the order; waiting records continue. */
  public static void close(String applicationId) {
    StartOrder order = OPEN.remove(applicationId);
    if (order != null) {
      synchronized (order) {
        order.end("closed");
      }
    }
  }

  /** Returns the order; null if no record waits any more. */
  public static StartOrder of(String applicationId) {
    StartOrder order = OPEN.get(applicationId);
    return order == null || order.isOver ? null : order;
  }

  /** Returns true if the task of this thread must not read another record in its epoch. */
  public static boolean stopsTask() {
    return STOPS.get() != null;
  }

  /** Counts a record that is on its way to a task. */
  public void sent() {
    sent.incrementAndGet();
  }

  /** Counts a record that a task has processed, after the results have left the task. */
  public void processed() {
    movedAt = System.nanoTime();
    if (processed.incrementAndGet() == sent.get() && !isOver) {
      synchronized (this) {
        notifyAll();
      }
    }
  }

  /** Counts a task, that of this thread, which has read a partition to the end of its epoch. */
  public synchronized void ended() {
    STOPS.remove();
    ended++;
    notifyAll();
  }

  /** Returns the count of {@link #ended}; a task that reads calls this at its start. */
  public synchronized long endedSoFar() {
    return ended;
  }

  /**
   * Waits until a record may be processed.
   *
   * @return true if it is the last record that was found of its partition; the caller then calls
   *     {@link #read} when the results have left
   */
  public boolean pass(TopicPartition of, long offset, long timestamp, long endedAtStart) {
    if (isOver) {
      return false;
    }
    synchronized (this) {
      positions.put(of, offset);
      if (offset >= ends.getOrDefault(of, Long.MAX_VALUE)) {
        // Only markers of transactions came before it.
        read(of);
      }
      movedAt = System.nanoTime();
      if (timestamp >= stepEnd) {
        heads.put(of, timestamp);
        notifyAll();
        await(of, timestamp, endedAtStart);
        if (ended != endedAtStart && !isOver) {
          STOPS.set(true);
        }
      }
      positions.put(of, offset + 1);
      return offset + 1 >= ends.getOrDefault(of, Long.MAX_VALUE);
    }
  }

  /** Removes a partition whose records have been processed up to the end that was found. */
  public synchronized void read(TopicPartition of) {
    Long end = ends.remove(of);
    if (end != null) {
      positions.merge(of, end, Math::max);
    }
    movedAt = System.nanoTime();
    notifyAll();
  }

  private void await(TopicPartition of, long timestamp, long endedAtStart) {
    long since = System.nanoTime();
    long sentBefore = -1;
    try {
      while (timestamp >= stepEnd && !isOver && ended == endedAtStart && !isInterrupted()) {
        long now = System.nanoTime();
        boolean isFirst = isFirst(of, timestamp);
        if (isFirst && sentBefore < 0) {
          sentBefore = sent.get();
          since = now;
        }
        if (isFirst && !hasArrived(sentBefore, now - since)) {
          await(now);
        } else if (ends.isEmpty()) {
          look();
          sentBefore = -1;
        } else if (isFirst) {
          begin(timestamp);
        } else if (now - since < GLANCE_NS || !check(of, timestamp)) {
          sentBefore = -1;
          await(now);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (KafkaException | IllegalStateException e) { // No broker answers.
      LOGGER.debug("{}: records are not ordered: {}", applicationId, e.toString());
      end("failed");
    }
  }

  /** Waits for a moment; gives up if nothing has moved for too long. */
  private void await(long now) throws InterruptedException {
    if (now - movedAt > patienceNs) {
      LOGGER.warn("{}: {} are not read on: no record waits for them", applicationId, ends.keySet());
      end("gave up");
    } else {
      wait(NAP_MS);
    }
  }

  /** Finds out what is unread; ends the order if that is almost nothing or does not shrink. */
  private void look() {
    long now = System.nanoTime();
    long took = now - lookedAt;
    if (looks > 0 && (took < levelNs || looks > 1 && took * 2 > tookBefore)) {
      end("level");
      return;
    }
    checked.clear();
    for (Map.Entry<TopicPartition, Long> each : topics.of(partitions).entrySet()) {
      if (each.getValue() > positions.getOrDefault(each.getKey(), 0L)) {
        ends.put(each.getKey(), each.getValue());
      }
    }
    if (ends.isEmpty()) {
      end("level");
    }
    tookBefore = took;
    lookedAt = now;
    looks++;
  }

  /** Returns true if no other partition can have a record of an earlier step. */
  private boolean isFirst(TopicPartition of, long timestamp) {
    for (TopicPartition other : ends.keySet()) {
      if (isBehind(other, of, timestamp)) {
        return false;
      }
    }
    return true;
  }

  private boolean isBehind(TopicPartition other, TopicPartition of, long timestamp) {
    return !other.equals(of)
        && heads.getOrDefault(other, Long.MIN_VALUE) < Math.floorDiv(timestamp, stepMs) * stepMs;
  }

  /**
   * Asks the broker about partitions that a record waits for; returns true if one has no record
   * left.
   */
  private boolean check(TopicPartition of, long timestamp) {
    for (TopicPartition other : List.copyOf(ends.keySet())) {
      if (isBehind(other, of, timestamp)
          && checked.add(other)
          && !topics.holdsRecord(other, positions.getOrDefault(other, 0L), ends.get(other))) {
        read(other);
        return true;
      }
    }
    return false;
  }

  /**
   * Returns true if no record is on its way. Rows of tables are not ordered and may arrive without
   * a pause, so after a moment it suffices that as many records were processed as had been sent
   * before.
   */
  private boolean hasArrived(long sentBefore, long waitedNs) {
    long arrived = processed.get();
    return arrived == sent.get() || waitedNs > GLANCE_NS && arrived >= sentBefore;
  }

  private void begin(long timestamp) {
    stepEnd = Math.floorDiv(timestamp, stepMs) * stepMs + stepMs;
    if (++steps % STEPS_OF_A_LENGTH == 0) {
      stepMs *= 2;
    }
    movedAt = System.nanoTime();
    notifyAll();
  }

  private void end(String why) {
    if (!isOver) {
      LOGGER.debug("{}: order {} after {} steps and {} looks", applicationId, why, steps, looks);
      isOver = true;
      topics.close();
      notifyAll();
    }
  }

  private static boolean isInterrupted() {
    TaskContext task = TaskContext.get();
    return Thread.currentThread().isInterrupted() || (task != null && task.isInterrupted());
  }
}
