package org.duolog.kernel.task;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.IntPredicate;
import java.util.function.IntUnaryOperator;
import org.duolog.kernel.record.Envelope;
import scala.collection.AbstractIterator;
import scala.collection.BufferedIterator;

/**
 * Merges the records of one task in one micro-batch, in Kafka Streams' order.
 *
 * <p>There is one queue for each (queue of edges, source), ordered by position, turn, then edge.
 * The next record is the head with the smallest timestamp; ties are resolved by queue, then source.
 * Rows of global tables precede all others, regardless of timestamps. So a slow input neither
 * delays the others nor overtakes them. The order of the shuffle does not matter: Spark delivers
 * one source partition after the other, and a sort that spills breaks the order even within one.
 *
 * <p>Copies of one record on several edges must be merged in the record's order, so edges from one
 * topic or sub-topology form one queue. Rank alone would separate the copies if two records have
 * the same timestamp, or if timestamps decrease.
 *
 * <p>The whole micro-batch of the task is held in memory. Threads: not shared. Source: Kafka
 * Streams PartitionGroup.
 */
public final class Merge extends AbstractIterator<Envelope> {
  private static final Comparator<Queue> BY_HEAD = Merge::compareHeads;

  private final PriorityQueue<Queue> others = new PriorityQueue<>(BY_HEAD);
  private Queue current;

  /**
   * Returns the records of a task in order.
   *
   * @param queueOf returns the queue of an edge
   * @param goesFirst returns true for an edge whose records precede all others
   */
  public static scala.collection.Iterator<Envelope> of(
      scala.collection.Iterator<Envelope> records,
      IntUnaryOperator queueOf,
      IntPredicate goesFirst) {
    BufferedIterator<Envelope> ahead = records.buffered();
    return ahead.hasNext() && ahead.head().merged()
        ? ahead
        : new Merge(ahead, queueOf, goesFirst);
  }

  private Merge(
      scala.collection.Iterator<Envelope> records,
      IntUnaryOperator queueOf,
      IntPredicate goesFirst) {
    Map<Long, Queue> queues = new HashMap<>();
    Queue last = null;
    long lastId = 0;
    while (records.hasNext()) {
      Envelope record = records.next();
      int rank = queueOf.applyAsInt(record.edge());
      long id = (long) rank << 32 | record.source() & 0xFFFFFFFFL;
      if (last == null || id != lastId) {
        boolean first = goesFirst.test(record.edge());
        last = queues.computeIfAbsent(id, unused -> new Queue(rank, first));
        lastId = id;
      }
      last.add(record);
    }
    for (Queue queue : queues.values()) {
      queue.start();
      others.add(queue);
    }
    current = others.poll();
  }

  @Override
  public boolean hasNext() {
    return current != null;
  }

  @Override
  public Envelope next() {
    Envelope record = current.take();
    if (!current.hasHead()) {
      current = others.poll();
    } else if (!others.isEmpty() && BY_HEAD.compare(current, others.peek()) > 0) {
      others.add(current);
      current = others.poll();
    }
    return record;
  }

  private static int compareHeads(Queue left, Queue right) {
    if (left.first != right.first) {
      return left.first ? -1 : 1;
    }
    return compare(left.head(), left.rank, right.head(), right.rank);
  }

  /** Compares the heads of two queues, given the ranks of the queues. */
  static int compare(Envelope a, int rankOfA, Envelope b, int rankOfB) {
    int order = Long.compare(a.ts(), b.ts());
    if (order == 0) {
      order = Integer.compare(rankOfA, rankOfB);
    }
    return order == 0 ? Integer.compare(a.source(), b.source()) : order;
  }

  private static final class Queue {
    private static final Comparator<Envelope> IN_QUEUE =
        Comparator.comparingLong(Envelope::position)
            .thenComparingInt(Envelope::turn)
            .thenComparingInt(Envelope::edge);

    private final int rank;
    private final boolean first;
    private final List<Envelope> waiting = new ArrayList<>();
    private Envelope last;
    private boolean sorted = true;
    private Iterator<Envelope> rest;
    private Envelope head;

    Queue(int rank, boolean first) {
      this.rank = rank;
      this.first = first;
    }

    void add(Envelope record) {
      sorted &= last == null || IN_QUEUE.compare(last, record) <= 0;
      last = record;
      waiting.add(record);
    }

    void start() {
      if (!sorted) {
        waiting.sort(IN_QUEUE);
      }
      rest = waiting.iterator();
      take();
    }

    boolean hasHead() {
      return head != null;
    }

    Envelope head() {
      return head;
    }

    Envelope take() {
      Envelope taken = head;
      head = rest.hasNext() ? rest.next() : null;
      return taken;
    }
  }
}
