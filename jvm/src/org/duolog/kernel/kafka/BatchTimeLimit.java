package org.duolog.kernel.kafka;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.duolog.kernel.spec.Windows;
import org.duolog.kernel.task.SourceOffsets;

/**
 * Limits how far in time a micro-batch of several topics reads.
 *
 * <p>A micro-batch is bounded in records, so a part of a topic may be left for the next one. Other
 * topics must then not be read beyond the time of that part: their records would be processed too
 * early. If everything fits into one micro-batch, no timestamps are looked up. Source: Kafka
 * Streams waits for the data that the broker has of each input (KIP-695).
 *
 * <pre>  bounded ends -> the earliest remaining record -> no partition reads beyond its time
 * </pre>
 *
 * <p>Global tables are not read in the order of time, but first: no other topic is read before they
 * have been read to the end offsets at the start of the query. Source: Kafka Streams
 * GlobalStreamThread.
 *
 * <p>The partition with the earliest remaining record is read up to its own bound, so each
 * micro-batch makes progress. The time of a record is the largest of its partition so far, as in
 * {@code Merge}: it waits for those before it.
 *
 * <p>Threads: Spark's stream execution thread.
 */
final class BatchTimeLimit {
  private static final Map<String, BatchTimeLimit> BY_NAME = new ConcurrentHashMap<>();

  /** At equal times, rows of a table precede records of a stream. */
  private static final Comparator<Left> FIRST =
      Comparator.comparingLong(Left::time).thenComparing(left -> !left.share.stream.isTable());

  private final String name;
  private final RecordTimes times;
  private final List<OrderedStream> streams = new ArrayList<>();
  private final Map<OrderedStream, Offset> starts = new HashMap<>();
  private final Map<OrderedStream, Offset> ends = new HashMap<>();
  private final Set<OrderedStream> unasked = new HashSet<>();
  private final Map<OrderedStream, Map<TopicPartition, Long>> toLoad = new HashMap<>();
  private boolean loaded;

  BatchTimeLimit(String name, RecordTimes times) {
    this.name = name;
    this.times = times;
  }

  static BatchTimeLimit of(CaseInsensitiveStringMap options) {
    return BY_NAME.computeIfAbsent(
        options.get("horizon"), name -> new BatchTimeLimit(name, new RecordTimes(options)));
  }

  void add(OrderedStream stream) {
    streams.add(stream);
    // The ends of tables are fetched last: they then include rows written before a stream's record.
    streams.sort(Comparator.comparing(OrderedStream::isTable));
  }

  void remove(OrderedStream stream) {
    streams.remove(stream);
    if (streams.isEmpty()) {
      BY_NAME.remove(name);
      times.close();
    }
  }

  /**
   * Returns the end of the stream's next micro-batch. Spark asks once per stream for each
   * micro-batch.
   */
  Offset end(OrderedStream asking, Offset start) {
    boolean planned = unasked.remove(asking) && start.equals(starts.get(asking));
    if (!planned) {
      starts.put(asking, start);
      plan();
      unasked.addAll(streams);
      unasked.remove(asking);
    }
    Offset end = ends.get(asking);
    starts.put(asking, end == null ? start : end);
    return end;
  }

  /** Returns the start of a micro-batch, moved to records that still exist. */
  Offset present(LostRecords lost, Offset start, Offset end) {
    Map<TopicPartition, Long> begins = lost.passedOver(start, end, times);
    return begins.equals(read(start))
        ? start
        : streams.get(0).deserializeOffset(SourceOffsets.write(begins));
  }

  private void plan() {
    List<Share> shares = new ArrayList<>();
    for (OrderedStream stream : streams) {
      Offset start = starts.computeIfAbsent(stream, OrderedStream::firstStart);
      Offset end = stream.boundedEnd(start);
      ends.put(stream, end);
      if (end != null) {
        shares.add(
            new Share(stream, read(start), read(end), read(stream.available())));
      }
    }
    if (!isLoaded(shares)) {
      streams.stream().filter(stream -> !stream.isGlobal()).forEach(this::hold);
      return;
    }
    shares.removeIf(share -> share.stream.isGlobal());
    if (shares.size() > 1) {
      List<Left> left = shares.stream().flatMap(share -> left(share).stream()).toList();
      left.stream().min(FIRST).ifPresent(first -> cut(shares, left, first));
    }
  }

  /** Returns true if this micro-batch reads global tables to their end offsets at the first one. */
  private boolean isLoaded(List<Share> shares) {
    if (!loaded) {
      loaded = true;
      for (Share share : shares) {
        if (share.stream.isGlobal()) {
          Map<TopicPartition, Long> ends =
              toLoad.computeIfAbsent(share.stream, unused -> share.available);
          loaded &=
              ends.entrySet().stream()
                  .allMatch(end -> share.end.getOrDefault(end.getKey(), 0L) >= end.getValue());
        }
      }
    }
    return loaded;
  }

  private void hold(OrderedStream stream) {
    ends.put(stream, starts.get(stream));
  }

  /** Returns what the bound leaves for later, for each partition. */
  private List<Left> left(Share share) {
    List<Left> found = new ArrayList<>();
    share.end.forEach(
        (partition, end) -> {
          if (end < share.available.get(partition)) {
            long start = share.start.getOrDefault(partition, 0L);
            times.reached(partition, start, end).ifPresent(
                time -> found.add(new Left(share, partition, time)));
          }
        });
    return found;
  }

  private void cut(List<Share> shares, List<Left> left, Left first) {
    boolean otherTopic = left.stream().anyMatch(other -> other.share != first.share);
    for (Share share : shares) {
      if (share != first.share) {
        otherTopic |= cut(share, share.end.keySet(), first);
      }
    }
    if (otherTopic) {
      Set<TopicPartition> beside = new HashSet<>(first.share.end.keySet());
      beside.remove(first.partition);
      cut(first.share, beside, first);
    }
  }

  /** Ends partitions at the time limit; returns true if one of them had more. */
  private boolean cut(Share share, Collection<TopicPartition> partitions, Left first) {
    // See FIRST.
    boolean waits = first.share.stream.isTable() && !share.stream.isTable();
    long from = waits ? first.time : Windows.end(first.time, 1);
    // No record precedes those without a valid time, and Kafka cannot search for negative times.
    Map<TopicPartition, Long> behind = times.firstFrom(partitions, Math.max(0, from));
    Map<TopicPartition, Long> ends = new HashMap<>(share.end);
    behind.forEach(
        (partition, offset) ->
            ends.merge(
                partition,
                Math.max(offset, share.start.getOrDefault(partition, 0L)),
                Math::min));
    this.ends.put(share.stream, share.stream.deserializeOffset(SourceOffsets.write(ends)));
    return !ends.equals(share.end);
  }

  private static Map<TopicPartition, Long> read(Offset offset) {
    return SourceOffsets.read(offset.json());
  }

  /** A stream's part of a micro-batch: its start, its end, and the available records. */
  private record Share(
      OrderedStream stream,
      Map<TopicPartition, Long> start,
      Map<TopicPartition, Long> end,
      Map<TopicPartition, Long> available) {}

  /** A partition that is not read to its end, and the time up to which it is. */
  private record Left(Share share, TopicPartition partition, long time) {}
}
