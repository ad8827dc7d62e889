package org.duolog.kernel.task;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Sends random records of topics' partitions to their tasks with and without a shuffle.
 *
 * <p>Usage: CASES. Prints the seeds of cases in which a task has other records than after the shuffle, or another
 * order, or one grouping number twice; then the number of tasks.
 */
public final class DirectOrder {
  private static final int TOPIC_BITS = 20;

  private DirectOrder() {}

  public static void main(String[] args) {
    int tasks = 0;
    for (int seed = 0; seed < Integer.parseInt(args[0]); seed++) {
      tasks += new Case(new Random(seed), seed).run();
    }
    System.out.println(tasks);
  }

  private static final class Case {
    private final Random random;
    private final int seed;
    private final int tasks;
    private final Set<Integer> first;
    private final Grouping grouping;
    private final Map<Integer, Integer> ranks = new TreeMap<>();
    private final PartitionRouting direct;
    private final int topics;
    private final boolean oneQueueEach;

    Case(Random random, int seed) {
      this.random = random;
      this.seed = seed;
      tasks = 1 + random.nextInt(3);
      topics = 1 + random.nextInt(3);
      oneQueueEach = random.nextBoolean();
      first = random.nextInt(3) == 0 ? Set.of(0, 1) : Set.of(0);
      grouping = new Grouping(3, tasks, tasks);
      for (int edge = 0; edge < 2 * topics; edge++) {
        // Two edges of a topic, in one queue or in a queue each.
        ranks.put(edge, oneQueueEach ? edge / 2 * 2 : edge);
      }
      direct = new PartitionRouting(grouping, first, ranks, oneQueueEach);
    }

    int run() {
      for (int task = 0; task < tasks; task++) {
        List<List<Envelope>> partitions = new ArrayList<>();
        for (int topic = 0; topic < topics; topic++) {
          partitions.add(records(topic, task));
        }
        if (!through(task, partitions).equals(shuffled(partitions))) {
          System.out.println("differs:" + seed);
        }
      }
      return tasks;
    }

    /** Returns the records of a partition in order; some are for sinks and later sub-topologies. */
    private List<Envelope> records(int topic, int task) {
      List<Envelope> records = new ArrayList<>();
      int count = random.nextInt(30);
      for (int offset = 0; offset < count; offset++) {
        Change change = new Change();
        change.ts = random.nextInt(8);
        int turn = 0;
        for (int more = random.nextInt(3); more > 0; more--) {
          int edge = 2 * topic + random.nextInt(2);
          Envelope envelope = Envelope.toEdge(edge, null, null, null, change, null);
          int subtopology = random.nextInt(4) - 1;
          boolean straight = first.contains(subtopology);
          int target = straight ? task : random.nextInt(tasks);
          envelope.setGrouping(grouping.of(subtopology, target));
          envelope.stamp(topic << TOPIC_BITS | task, offset, turn++);
          records.add(envelope);
        }
      }
      return records;
    }

    private Map<Long, List<String>> through(int task, List<List<Envelope>> partitions) {
      List<Iterator<Envelope>> readers = new ArrayList<>();
      partitions.forEach(records -> readers.add(copies(records).iterator()));
      Map<Long, List<Envelope>> groups = new LinkedHashMap<>();
      Set<Long> ended = new HashSet<>();
      long last = -1;
      for (Iterator<Envelope> all = direct.through(task, readers); all.hasNext(); ) {
        Envelope record = all.next();
        if (record.getGrouping() != last && !ended.add(record.getGrouping())) {
          System.out.println("twice:" + seed);
        }
        last = record.getGrouping();
        groups.computeIfAbsent(last, unused -> new ArrayList<>()).add(record);
      }
      return ordered(groups);
    }

    private Map<Long, List<String>> shuffled(List<List<Envelope>> partitions) {
      Map<Long, List<Envelope>> groups = new TreeMap<>();
      List<List<Envelope>> anyOrder = new ArrayList<>(partitions);
      Collections.shuffle(anyOrder, random);
      for (List<Envelope> records : anyOrder) {
        for (Envelope record : copies(records)) {
          groups.computeIfAbsent(record.getGrouping(), unused -> new ArrayList<>()).add(record);
        }
      }
      return ordered(groups);
    }

    private Map<Long, List<String>> ordered(Map<Long, List<Envelope>> groups) {
      Map<Long, List<String>> found = new TreeMap<>();
      groups.forEach(
          (group, records) -> {
            var merged =
                Merge.of(
                    CollectionConverters.asScala(records.iterator()), ranks::get, edge -> false);
            List<String> names = new ArrayList<>();
            CollectionConverters.asJava(merged).forEachRemaining(r -> names.add(name(r)));
            found.put(group, names);
          });
      return found;
    }

    private static List<Envelope> copies(List<Envelope> records) {
      List<Envelope> copies = new ArrayList<>();
      for (Envelope record : records) {
        Envelope copy = record.copy();
        copy.setGrouping(record.getGrouping());
        copies.add(copy);
      }
      return copies;
    }

    private static String name(Envelope record) {
      return record.source() + "/" + record.position() + "/" + record.turn() + "/" + record.edge();
    }
  }
}
