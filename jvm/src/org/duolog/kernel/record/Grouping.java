package org.duolog.kernel.record;

import java.io.Serializable;
import org.apache.kafka.common.utils.Utils;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * The numbers by which Spark groups: one for each (sub-topology, task).
 *
 * <pre>
 *   grouping = (slot * tasks + task) << 20 | salt      slot = sub-topology + 1, or 0 = to a sink
 * </pre>
 *
 * <pre>  bucket of a task = 1 << 63 | (slot * tasks + task) << 43 | bucket
 * </pre>
 *
 * <p>Spark hashes the grouping number to choose the Spark partition. The salt is searched such that
 * task {@code t} is always in Spark partition {@code t % shufflePartitions}; otherwise three of
 * four tasks could share one partition. {@link #check} asserts this when records arrive.
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

  /** The number of tasks of each sub-topology. */
  public int tasks() {
    return tasks;
  }

  /** The number of destinations: the sub-topologies, and one slot for the sinks. */
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
   * Returns the number under which Spark keeps a bucket of a task's store. It never equals the
   * number of a task. Buckets that are 2^43 apart share one number.
   */
  public long bucket(long grouping, long bucket) {
    long place = bucket & (1L << BUCKET_BITS) - 1;
    return Long.MIN_VALUE | (grouping >>> SALT_BITS) << BUCKET_BITS | place;
  }

  /** Returns the bucket of a task, given the number under which Spark keeps it. */
  public static long placeOfBucket(long number) {
    return number & (1L << BUCKET_BITS) - 1;
  }

  /**
   * Returns the index, among all tasks, of the task that owns a number under which Spark keeps
   * state: the task's own number, or that of one of its buckets.
   */
  public static long owner(long number) {
    return number < 0 ? (number & Long.MAX_VALUE) >>> BUCKET_BITS : number >>> SALT_BITS;
  }

  /**
   * Returns the task of a record key in its internal format, as Kafka's partitioner computes it for
   * this number of partitions.
   */
  public int taskOfKey(byte[] keyBytes, long partitions) {
    return taskOfPartition(Utils.toPositive(Utils.murmur2(keyBytes)), partitions);
  }

  /** Returns the task of a partition, limited to this number of partitions. */
  public int taskOfPartition(long partition, long partitions) {
    return (int) (partition % partitions % tasks);
  }

  /** Returns the task of a record without a key. */
  public int taskOfSource(int source) {
    return Math.floorMod(source, tasks);
  }

  /** Returns the Spark partition of a task. */
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
    throw new IllegalStateException("no grouping number hashes to partition " + sparkPartition);
  }
}
