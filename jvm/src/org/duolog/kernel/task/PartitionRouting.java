package org.duolog.kernel.task;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.MisroutedRecordException;

/**
 * Routes records from their partitions to the tasks of the first level without a shuffle. This
 * requires that each partition holds the keys of one task, as Kafka's producers write them, and
 * that no key changes on the way.
 *
 * <p>The topology is checked before it runs, each record of a topic as it is read. A record in a
 * partition of another task makes the query fail with {@link MisroutedRecordException}: mostly
 * before any processing, always before its micro-batch is committed.
 *
 * <pre>
 *   partition 0 of a, of b -> task 0        in the order of {@link Merge}, without merging
 *   partition 1 of a, of b -> task 1
 * </pre>
 *
 * <p>If records of one topic may be in several queues, or have several sub-topologies,
 * {@link Merge} orders them as after a shuffle. Threads: immutable.
 */
public final class PartitionRouting implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int LOOKED_AHEAD = 1_000;

  private final Grouping grouping;
  private final Set<Integer> subtopologies;
  private final Map<Integer, Integer> ranks;
  private final boolean merges;

  /**
   * @param subtopologies the sub-topologies of the first level
   * @param ranks the queue of each edge
   * @param oneQueueEach true if all records of a topic are in one queue
   */
  public PartitionRouting(
      Grouping grouping,
      Set<Integer> subtopologies,
      Map<Integer, Integer> ranks,
      boolean oneQueueEach) {
    this.grouping = grouping;
    this.subtopologies = subtopologies;
    this.ranks = ranks;
    this.merges = oneQueueEach && subtopologies.size() == 1;
  }

  public int tasks() {
    return grouping.tasks();
  }

  /** Returns the task of a partition of a source topic. */
  public int task(int partition) {
    return grouping.taskOfPartition(partition, Long.MAX_VALUE);
  }

  /** Fails if a record of a partition belongs to another task than the one that reads it. */
  void check(int partition, int subtopology, int target) {
    if (target != task(partition) && subtopologies.contains(subtopology)) {
      throw new MisroutedRecordException(partition, target);
    }
  }

  /** Returns the records of a task from its partitions, one grouping number after the other. */
  public Iterator<Envelope> through(int task, List<Iterator<Envelope>> partitions) {
    return new Task(task, partitions);
  }

  private final class Task implements Iterator<Envelope> {
    private final long merged;
    private final List<Queue> queues = new ArrayList<>();
    private final Map<Long, List<Envelope>> aside = new LinkedHashMap<>();
    private Iterator<List<Envelope>> groups;
    private Iterator<Envelope> group;
    private Envelope head;

    Task(int task, List<Iterator<Envelope>> partitions) {
      merged = merges ? grouping.of(subtopologies.iterator().next(), task) : 0;
      for (Iterator<Envelope> records : partitions) {
        queues.add(new Queue(records));
      }
      queues.forEach(Queue::lookAhead);
    }

    @Override
    public boolean hasNext() {
      if (head == null) {
        head = find();
      }
      return head != null;
    }

    @Override
    public Envelope next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Envelope found = head;
      head = null;
      return found;
    }

    private Envelope find() {
      if (groups == null) {
        Envelope first = takeFirst();
        if (first != null) {
          return first;
        }
        groups = aside.values().iterator();
      }
      while (group == null || !group.hasNext()) {
        if (!groups.hasNext()) {
          return null;
        }
        group = groups.next().iterator();
        groups.remove();
      }
      return group.next();
    }

    private Envelope takeFirst() {
      Queue first = null;
      for (Queue queue : queues) {
        if (queue.hasHead() && (first == null || queue.compareTo(first) < 0)) {
          first = queue;
        }
      }
      return first == null ? null : first.take();
    }

    /** The records of a partition for one sub-topology; the others are set aside. */
    private final class Queue implements Comparable<Queue> {
      private final Iterator<Envelope> records;
      private final ArrayDeque<Envelope> ahead = new ArrayDeque<>();

      Queue(Iterator<Envelope> records) {
        this.records = records;
      }

      /** Most misrouted records are found here, before any processing. */
      void lookAhead() {
        while (ahead.size() < LOOKED_AHEAD && records.hasNext()) {
          read();
        }
      }

      boolean hasHead() {
        while (ahead.isEmpty() && records.hasNext()) {
          read();
        }
        return !ahead.isEmpty();
      }

      Envelope take() {
        return ahead.poll();
      }

      private void read() {
        Envelope record = records.next();
        if (merges && record.getGrouping() == merged) {
          record.setMerged();
          ahead.add(record);
        } else {
          aside.computeIfAbsent(record.getGrouping(), unused -> new ArrayList<>()).add(record);
        }
      }

      @Override
      public int compareTo(Queue other) {
        Envelope first = ahead.element();
        Envelope second = other.ahead.element();
        return Merge.compare(
            first, ranks.get(first.edge()), second, ranks.get(second.edge()));
      }
    }
  }
}
