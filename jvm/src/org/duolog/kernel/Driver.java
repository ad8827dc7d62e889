package org.duolog.kernel;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.util.LongAccumulator;
import org.duolog.kernel.kafka.Sink;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.KafkaBytes;
import org.duolog.kernel.record.PartitionTimes;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.state.StoreReader;
import org.duolog.kernel.topology.Level;
import org.duolog.kernel.topology.TopicReader;
import org.duolog.kernel.topology.Topology;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Runs the same chain in memory: takes records, returns records of the sinks, and keeps state in
 * between.
 *
 * <p>{@link #pipe} passes one record through all levels; {@link #add} and {@link #run} pass several
 * as one micro-batch. Of Spark only expressions are used. Threads: one at a time. Source: Kafka
 * Streams TopologyTestDriver.
 */
public final class Driver {
  private final SparkSession spark;
  private final Spec spec;
  private final List<TopicReader> topics;
  private final List<Level> levels;
  private final List<MemoryHandle> handles = new ArrayList<>();
  private final String[] sinks;
  private final boolean realTime;
  private final String applicationId;
  private final LongAccumulator corruptRecords;
  private final Map<String, List<SourceRecord>> waiting = new TreeMap<>();
  private final Map<String, StoreReader> readers = new HashMap<>();
  private Long wallClockMs;

  /** A record of a sink topic. */
  public record Output(
      String topic, Integer partition, byte[] key, byte[] value, long ts, List<Header> headers) {}

  public Driver(SparkSession spark, String specJson) {
    this.spark = spark;
    spec = Spec.parse(specJson);
    Topology topology = new Topology(spec, spark);
    topics = topology.topics();
    levels = topology.levels();
    realTime = spec.realTime();
    applicationId = spec.applicationId();
    corruptRecords = topology.corruptRecords();
    sinks = new String[spec.sinks().size()];
    spec.sinks().forEach(sink -> sinks[sink.id()] = sink.topic());
    reset();
  }

  /** Discards all state and added records; the expressions stay compiled. */
  public void reset() {
    handles.clear();
    waiting.clear();
    corruptRecords.reset();
    PartitionTimes.forget(applicationId);
    for (Level level : levels) {
      level.close();
      MemoryHandle handle = new MemoryHandle();
      handles.add(handle);
      level.setHandle(handle);
      level.init(OutputMode.Update(), TimeMode.None());
    }
  }

  /** Passes one record through the whole chain. */
  public List<Output> pipe(
      String topic, int partition, long offset, long ts, byte[] key, byte[] value) {
    add(topic, partition, offset, ts, key, value, List.of());
    return run();
  }

  /** Adds a record to the next micro-batch. */
  public void add(
      String topic, int partition, long offset, long ts, byte[] key, byte[] value) {
    add(topic, partition, offset, ts, key, value, List.of());
  }

  /** Adds a record with headers to the next micro-batch. */
  public void add(
      String topic,
      int partition,
      long offset,
      long ts,
      byte[] key,
      byte[] value,
      List<Header> headers) {
    waiting
        .computeIfAbsent(topic, unused -> new ArrayList<>())
        .add(new SourceRecord(key, value, partition, offset, ts, Headers.encode(headers)));
  }

  /** Runs the added records as a micro-batch; in real time, one after the other. */
  public List<Output> run() {
    SparkSession.setActiveSession(spark);
    KafkaBytes.DRIVEN_CLOCK.set(wallClockMs);
    try {
      List<Envelope> records = new ArrayList<>();
      for (TopicReader topic : topics) {
        List<SourceRecord> input = waiting.getOrDefault(topic.topic(), List.of());
        topic.call(input.iterator()).forEachRemaining(records::add);
      }
      for (int i = 0; i < levels.size(); i++) {
        records = through(levels.get(i), handles.get(i), records);
      }
      return records.stream().map(this::output).toList();
    } finally {
      waiting.clear();
      // As in Spark, where a processor only knows what is in the state.
      levels.forEach(Level::close);
      KafkaBytes.DRIVEN_CLOCK.remove();
    }
  }

  /** Sets the time by the wall clock for the following records. */
  public void setWallClock(long ms) {
    wallClockMs = ms;
  }

  /**
   * Returns the rows of a table's store in all tasks, packed as records of a topic with the store's
   * name; their partition is the number of their task.
   *
   * @param lookJson a {@link StoreReader.StoreQuery}
   */
  public byte[] rows(String lookJson) {
    StoreReader.StoreQuery look = Spec.parse(lookJson, StoreReader.StoreQuery.class);
    StoreReader reader =
        readers.computeIfAbsent(lookJson, unused -> new StoreReader(spec, spark, look));
    handles.forEach(handle -> handle.visit(look.store(), reader::sees));
    reader.open(0);
    List<Output> rows = new ArrayList<>();
    for (MemoryHandle handle : handles) {
      handle.visit(
          look.store(),
          (number, key, value) -> {
            StoreReader.StoreRow row = reader.row(number, key, value);
            if (row != null) {
              rows.add(
                  new Output(
                      look.store(), row.task(), row.key(), row.value(), row.ts(), List.of()));
            }
          });
    }
    reader.close();
    return PackedRecords.pack(rows);
  }

  /** Calls {@link #add} and {@link #run} for many records in one call from another process. */
  public byte[] runPacked(byte[] records) {
    PackedRecords.unpack(records, this::add);
    return PackedRecords.pack(run());
  }

  /** Saves the state of all tasks, as a commit does. */
  public void keep() {
    handles.forEach(MemoryHandle::keep);
  }

  /** Restores the saved state, to run a failed micro-batch again. */
  public void rollBack() {
    handles.forEach(MemoryHandle::rollBack);
  }

  /** Returns the number of entries in the state of a store, in all tasks. */
  public int entries(String store) {
    return handles.stream().mapToInt(handle -> handle.size(store)).sum();
  }

  /** Returns the number of records that could not be read. */
  public long corruptRecords() {
    return corruptRecords.sum();
  }

  private List<Envelope> through(Level level, MemoryHandle handle, List<Envelope> records) {
    List<Envelope> results = new ArrayList<>();
    if (realTime) {
      for (Envelope record : records) {
        call(level, handle, record.getGrouping(), List.of(record), results);
      }
      return results;
    }
    Map<Long, List<Envelope>> tasks = new TreeMap<>();
    for (Envelope record : records) {
      tasks.computeIfAbsent(record.getGrouping(), unused -> new ArrayList<>()).add(record);
    }
    tasks.forEach((grouping, group) -> call(level, handle, grouping, group, results));
    return results;
  }

  private static void call(
      Level level,
      MemoryHandle handle,
      long grouping,
      List<Envelope> records,
      List<Envelope> results) {
    handle.select(grouping);
    level
        .handleInputRows(grouping, CollectionConverters.asScala(records.iterator()), null)
        .foreach(
            record -> {
              results.add(record);
              return null;
            });
  }

  private Output output(Envelope record) {
    if (!record.forSink()) {
      throw new IllegalStateException(
          "no level has processed the records of edge " + record.edge());
    }
    ProducerRecord<byte[], byte[]> produced =
        Sink.produced(record, sinks, Sink.chosenPartition(record));
    return new Output(
        produced.topic(),
        produced.partition(),
        produced.key(),
        produced.value(),
        produced.timestamp(),
        List.of(produced.headers().toArray()));
  }
}
