package org.duolog.kernel.kafka;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.duolog.kernel.task.SourceOffsets;

/**
 * Reads random topics to their ends in bounded micro-batches, as Spark does.
 *
 * <p>Usage: CASES. Prints violations: a record that was read before an earlier one of another topic, or before a global
 * table was loaded; a micro-batch that read nothing or ended before its start. Then prints the number of micro-batches.
 */
public final class BoundedMicroBatches {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final CaseInsensitiveStringMap NO_OPTIONS =
      new CaseInsensitiveStringMap(Map.of());

  private BoundedMicroBatches() {}

  public static void main(String[] args) {
    int batches = 0;
    for (int seed = 0; seed < Integer.parseInt(args[0]); seed++) {
      batches += read(new Random(seed), seed, false);
      read(new Random(seed), seed, true);
    }
    System.out.println(batches);
  }

  /** If {@code grows} is true, records arrive during the reads, so that some arrive too late. */
  private static int read(Random random, int seed, boolean grows) {
    List<Topic> topics = new ArrayList<>();
    for (int number = 0; number < 2 + random.nextInt(2); number++) {
      topics.add(new Topic("topic-" + number, random, grows));
    }
    if (random.nextInt(3) == 0) {
      topics.add(new Topic("global", random, grows));
    }
    BatchTimeLimit horizon = new BatchTimeLimit("case-" + seed, new Known(topics));
    List<OrderedStream> streams = new ArrayList<>();
    for (Topic topic : topics) {
      Map<String, String> options =
          Map.of(
              "horizon.table", Boolean.toString(topic.table),
              "horizon.global", Boolean.toString(topic.isGlobal()));
      streams.add(new OrderedStream(topic, new CaseInsensitiveStringMap(options), horizon, null));
    }
    int batches = 0;
    while (topics.stream().anyMatch(Topic::hasMore)) {
      topics.forEach(topic -> topic.grow(random));
      boolean some = topics.stream().anyMatch(Topic::hasSome);
      List<long[]> ends = new ArrayList<>();
      long read = 0;
      for (int i = 0; i < topics.size(); i++) {
        Topic topic = topics.get(i);
        Offset end = streams.get(i).latestOffset(topic.offset(topic.at), ReadLimit.allAvailable());
        long[] ended = topic.read(end);
        for (int p = 0; p < ended.length; p++) {
          read += ended[p] - topic.at[p];
          if (ended[p] < topic.at[p]) {
            System.out.println("backwards:" + seed);
          }
        }
        ends.add(ended);
      }
      for (int i = 0; i < topics.size(); i++) {
        topics.get(i).at = ends.get(i);
      }
      if (batches == 0) {
        topics.forEach(topic -> topic.first = topic.there.clone());
      }
      batches++;
      if (topics.stream().anyMatch(Topic::isLoading)
          && topics.stream().anyMatch(topic -> !topic.isGlobal() && topic.hasBegun())) {
        System.out.println("not-loaded:" + seed);
      }
      if (read <= 0 && some) {
        System.out.println("nothing-read:" + seed);
        break;
      }
      if (!grows) {
        topics.forEach(behind -> topics.forEach(other -> check(behind, other, seed)));
      }
    }
    return batches;
  }

  /** Checks that no record of {@code other} was read that follows an unread record of {@code left}. */
  private static void check(Topic left, Topic other, int seed) {
    boolean inTime = left != other && !left.isGlobal() && !other.isGlobal();
    for (int p = 0; inTime && p < left.times.length; p++) {
      if (left.at[p] == left.times[p].length) {
        continue;
      }
      long first = left.reached(p, (int) left.at[p]);
      for (int q = 0; q < other.times.length; q++) {
        long last = other.at[q] == 0 ? -1 : other.reached(q, (int) other.at[q] - 1);
        boolean goesBehind = last > first || (last == first && left.table && !other.table);
        // A record without a timestamp has no position among the others.
        if (last >= 0 && goesBehind) {
          System.out.println("overtaken:" + seed);
        }
      }
    }
  }

  /** Known timestamps of records, as the largest so far. */
  private static final class Known extends RecordTimes {
    private final Map<String, Topic> topics = new HashMap<>();

    Known(List<Topic> topics) {
      super(NO_OPTIONS);
      topics.forEach(topic -> this.topics.put(topic.name, topic));
    }

    @Override
    OptionalLong reached(TopicPartition partition, long start, long offset) {
      return OptionalLong.of(
          topics.get(partition.topic()).reached(partition.partition(), (int) offset));
    }

    @Override
    Map<TopicPartition, Long> firstFrom(Collection<TopicPartition> partitions, long time) {
      if (time < 0) {
        throw new IllegalArgumentException("Kafka's consumer finds nothing from " + time + " on");
      }
      Map<TopicPartition, Long> found = new HashMap<>();
      for (TopicPartition partition : partitions) {
        long[] times = topics.get(partition.topic()).times[partition.partition()];
        int last = topics.get(partition.topic()).there[partition.partition()] - 1;
        for (int offset = last; offset >= 0; offset--) {
          if (times[offset] >= time) {
            found.put(partition, (long) offset);
          }
        }
      }
      return found;
    }
  }

  private static final class At extends Offset {
    private final String json;

    At(String json) {
      this.json = json;
    }

    @Override
    public String json() {
      return json;
    }
  }

  /** A topic whose micro-batches are bounded in records. */
  private static final class Topic
      implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
    private final String name;
    private final boolean table;
    private final long[][] times;
    private final int most;
    private final int[] there;
    private long[] at;

    /** The ends when the first micro-batch was planned. */
    private int[] first;

    Topic(String name, Random random, boolean grows) {
      this.name = name;
      table = random.nextBoolean();
      times = new long[1 + random.nextInt(2)][];
      most = 1 + random.nextInt(6);
      for (int p = 0; p < times.length; p++) {
        times[p] = new long[random.nextInt(20)];
        long time = 0;
        boolean hasNone = random.nextInt(6) == 0;
        for (int i = 0; i < times[p].length; i++) {
          time += random.nextInt(4);
          times[p][i] = random.nextInt(8) == 0 ? Math.max(0, time - 5) : time;
          if (hasNone) {
            times[p][i] = -1 - random.nextInt(3);
          }
        }
      }
      at = new long[times.length];
      there = new int[times.length];
      for (int p = 0; p < times.length; p++) {
        there[p] = grows ? 0 : times[p].length;
      }
    }

    void grow(Random random) {
      for (int p = 0; p < times.length; p++) {
        there[p] = Math.min(times[p].length, there[p] + random.nextInt(8));
      }
    }

    boolean isGlobal() {
      return name.equals("global");
    }

    boolean hasBegun() {
      return Arrays.stream(at).sum() > 0;
    }

    /** Returns true while a global table does not have all rows that existed at the start. */
    boolean isLoading() {
      boolean loading = false;
      for (int p = 0; isGlobal() && p < at.length; p++) {
        loading |= at[p] < first[p];
      }
      return loading;
    }

    boolean hasSome() {
      for (int p = 0; p < times.length; p++) {
        if (at[p] < there[p]) {
          return true;
        }
      }
      return false;
    }

    boolean hasMore() {
      for (int p = 0; p < times.length; p++) {
        if (at[p] < times[p].length) {
          return true;
        }
      }
      return false;
    }

    long reached(int partition, int offset) {
      long largest = Long.MIN_VALUE;
      for (int i = 0; i <= offset; i++) {
        largest = Math.max(largest, times[partition][i]);
      }
      return largest;
    }

    Offset offset(long[] offsets) {
      Map<String, Long> partitions = new TreeMap<>();
      for (int p = 0; p < offsets.length; p++) {
        partitions.put(Integer.toString(p), offsets[p]);
      }
      try {
        return new At(JSON.writeValueAsString(Map.of(name, partitions)));
      } catch (java.io.IOException e) {
        throw new IllegalStateException(e);
      }
    }

    long[] read(Offset offset) {
      long[] found = new long[times.length];
      SourceOffsets.read(offset.json()).forEach((partition, to) -> found[partition.partition()] = to);
      return found;
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      long[] ends = read(start);
      for (int p = 0; p < ends.length; p++) {
        ends[p] = Math.min(there[p], ends[p] + most);
      }
      return offset(ends);
    }

    @Override
    public Offset reportLatestOffset() {
      long[] ends = new long[times.length];
      for (int p = 0; p < ends.length; p++) {
        ends[p] = there[p];
      }
      return offset(ends);
    }

    @Override
    public Offset initialOffset() {
      return offset(new long[times.length]);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new At(json);
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
      return ReadLimit.allAvailable();
    }

    @Override
    public Offset latestOffset() {
      return reportLatestOffset();
    }

    @Override
    public void prepareForTriggerAvailableNow() {}

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      throw new UnsupportedOperationException();
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}

    @Override
    public Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
      return Map.of();
    }
  }
}
