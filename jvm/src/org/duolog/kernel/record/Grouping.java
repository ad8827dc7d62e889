package org.duolog.kernel.record;

import java.io.Serializable;
import org.apache.kafka.common.utils.Utils;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * The numbers that Spark groups by: one for each (sub-topology, task).
 *
 * <pre>  grouping = (slot * tasks + task) << 20 | salt      slot = sub-topology + 1, or 0 = to a sink
 * </pre>
 *
 * <pre>  bucket of a task = 1 << 63 | (slot * tasks + task) << 43 | bucket
 * </pre>
 *
 * <p>Spark hashes the grouping number to choose the Spark partition. The salt is searched so that
 * task {@code t} always lands in Spark partition {@code t % shufflePartitions}: otherwise three of
 * four tasks may share one partition. {@link #check} asserts it where the records arrive.
 *
 * <p>Threads: immutable. Source: Spark's HashPartitioning (Murmur3, seed 42, pmod); Kafka's
 * BuiltInPartitioner for the task of a key.
 */
public final class Grouping implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int SALT_BITS = 20;
  private static final int BUCKET_BITS = 43;
  private static final int SPARK_HASH_SEED = 42;
  public static final int TO_SINK = -1;

  private final int tasks;
  private final int sparkPartitions;
  private final long[] values;

  public Grouping(int subtopologies, int tasks, int sparkPartitions) {
    this.tasks = tasks;
    this.sparkPartitions = sparkPartitions;
    this.values = new long[(subtopologies + 1) * tasks];
    if (values.length > 1 << Long.SIZE - 1 - BUCKET_BITS) {
      throw new IllegalArgumentException(values.length + " tasks are too many for one query");
    }
    for (int i = 0; i < values.length; i++) {
      values[i] = salted(i, i % tasks % sparkPartitions);
    }
  }

  public long of(int subtopology, int task) {
    return values[(subtopology + 1) * tasks + task];
  }

  public int subtopology(long grouping) {
    return (int) (grouping >>> SALT_BITS) / tasks - 1;
  }

  /** The tasks of each sub-topology. */
  public int tasks() {
    return tasks;
  }

  /** Where records may go: the sub-topologies, behind the sinks. */
  public int slots() {
    return values.length / tasks;
  }

  public int slot(long grouping) {
    return subtopology(grouping) + 1;
  }

  public int task(long grouping) {
    return (int) (grouping >>> SALT_BITS) % tasks;
  }

  /**
   * The number that Spark keeps a bucket of a task's store under; no task has it. Buckets that are 2^43
   * apart share one.
   */
  public long bucket(long grouping, long bucket) {
    long place = bucket & (1L << BUCKET_BITS) - 1;
    return Long.MIN_VALUE | (grouping >>> SALT_BITS) << BUCKET_BITS | place;
  }

  /** The place of a bucket among those of its task, of the number that Spark keeps it under. */
  public static long placeOfBucket(long number) {
    return number & (1L << BUCKET_BITS) - 1;
  }

  /** Which of all tasks a number belongs to that Spark keeps state under: its own, or that of a bucket. */
  public static long owner(long number) {
    return number < 0 ? (number & Long.MAX_VALUE) >>> BUCKET_BITS : number >>> SALT_BITS;
  }

  /** The task of a record key in its internal format, as Kafka's partitioner counts so many partitions. */
  public int taskOfKey(byte[] keyBytes, long partitions) {
    return taskOfPartition(Utils.toPositive(Utils.murmur2(keyBytes)), partitions);
  }

  /** The task of a partition, or of a source's, of no more than so many. */
  public int taskOfPartition(long partition, long partitions) {
    return (int) (partition % partitions % tasks);
  }

  /** The task of a record without a key. */
  public int taskOfSource(int source) {
    return Math.floorMod(source, tasks);
  }

  /** The Spark partition that a task is in. */
  public int sparkPartition(int task) {
    return task % sparkPartitions;
  }

  public void check(long grouping) {
    TaskContext context = TaskContext.get();
    int expected = sparkPartition(task(grouping));
    if (context != null && context.partitionId() != expected) {
      throw new IllegalStateException(
          String.format(
              "task %d arrived in Spark partition %d instead of %d; "
                  + "spark.sql.shuffle.partitions must be %d",
              task(grouping), context.partitionId(), expected, sparkPartitions));
    }
  }

  private long salted(long slot, int sparkPartition) {
    for (long salt = 0; salt < 1L << SALT_BITS; salt++) {
      long value = slot << SALT_BITS | salt;
      int hash = Murmur3_x86_32.hashLong(value, SPARK_HASH_SEED);
      if (Math.floorMod(hash, sparkPartitions) == sparkPartition) {
        return value;
      }
    }
    throw new IllegalStateException("no grouping value hashes to partition " + sparkPartition);
  }
}
