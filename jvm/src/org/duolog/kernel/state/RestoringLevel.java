package org.duolog.kernel.state;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.store.Changelog;
import org.duolog.kernel.store.ChangelogReader;
import org.duolog.kernel.store.SortedWrites;
import org.duolog.kernel.topology.Level;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Replaces a {@link Level} while its stores are restored: each task puts the entries of its
 * changelogs into the same states, so that Spark's checkpoint is one of the level.
 *
 * <p>Uncommitted entries are skipped. Once the topic is compacted, such an entry could replace the
 * one that counts; therefore the entry that counts is written again after it, or a removal if there
 * is none.
 *
 * <p>Threads: one at a time.
 */
public final class RestoringLevel extends StatefulProcessor<Long, Envelope, Envelope> {
  private static final long serialVersionUID = 1L;

  private final Map<Integer, List<String>> stores;
  private final Map<String, Log> logs;
  private final Grouping grouping;
  private final ChangelogReader reader;
  private final byte[] headers;
  private transient Map<String, MapState<byte[], byte[]>> states;

  /** The changelog of a store, and the sink that writes it. */
  public record Log(String topic, int sink) implements Serializable {}

  /**
   * @param stores the stores of this level, by sub-topology
   * @param logs the logs of all stores, by name
   * @param generation the generation of new entries
   */
  public RestoringLevel(
      Map<Integer, List<String>> stores,
      Map<String, Log> logs,
      Grouping grouping,
      ChangelogReader reader,
      int generation) {
    this.stores = stores;
    this.logs = logs;
    this.grouping = grouping;
    this.reader = reader;
    this.headers = Changelog.header(generation, Changelog.BEFORE_ALL);
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    states = new TreeMap<>();
    for (List<String> names : stores.values()) {
      for (String name : names) {
        states.put(name, Level.state(getHandle(), name));
      }
    }
  }

  @Override
  public Iterator<Envelope> handleInputRows(
      Long group, Iterator<Envelope> records, TimerValues timers) {
    List<String> names = stores.get(grouping.subtopology(group));
    if (names == null) {
      return records;
    }
    grouping.check(group);
    Map<String, SortedWrites> byTopic = new HashMap<>();
    List<TopicPartition> partitions = new ArrayList<>();
    for (String name : names) {
      String topic = logs.get(name).topic();
      byTopic.put(topic, new SortedWrites(states.get(name)));
      partitions.add(new TopicPartition(topic, grouping.task(group)));
    }
    Map<String, Set<Uncommitted>> uncommitted = new HashMap<>();
    try {
      // The last entry of a key counts.
      reader.read(
          partitions,
          (entry, isCommitted) -> {
            Changelog.StateKey place = Changelog.StateKey.of(entry.key(), grouping, group);
            if (isCommitted) {
              byTopic.get(entry.topic()).put(place.number(), place.key(), entry.value());
            } else {
              uncommitted
                  .computeIfAbsent(entry.topic(), unused -> new LinkedHashSet<>())
                  .add(new Uncommitted(place.number(), new Bytes(place.key())));
            }
          });
      byTopic.values().forEach(SortedWrites::flush);
      return CollectionConverters.asScala(mended(names, uncommitted, group).iterator());
    } finally {
      byTopic.values().forEach(SortedWrites::close);
      ImplicitGroupingKeyTracker.setImplicitKey(group);
    }
  }

  /** Returns entries that must be written again, as an uncommitted entry follows them. */
  private List<Envelope> mended(
      List<String> names, Map<String, Set<Uncommitted>> uncommitted, long group) {
    List<Envelope> mended = new ArrayList<>();
    int task = grouping.task(group);
    long now = System.currentTimeMillis();
    for (String name : names) {
      Log log = logs.get(name);
      for (Uncommitted of : uncommitted.getOrDefault(log.topic(), Set.of())) {
        ImplicitGroupingKeyTracker.setImplicitKey(of.number);
        byte[] key = of.key.bytes;
        byte[] value = states.get(name).getValue(key);
        Envelope entry = Changelog.entry(log.sink(), task, of.number, key, value, now, headers);
        entry.setGrouping(grouping.of(Grouping.TO_SINK, task));
        mended.add(entry);
      }
    }
    return mended;
  }

  private record Uncommitted(long number, Bytes key) {}

  /** Bytes that are compared by content. */
  private record Bytes(byte[] bytes) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Bytes that && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(bytes);
    }
  }
}
