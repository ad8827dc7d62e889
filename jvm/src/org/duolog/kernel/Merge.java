package org.duolog.kernel;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.IntUnaryOperator;
import scala.collection.AbstractIterator;

/**
 * The records of one task in one micro-batch, in Kafka Streams' order.
 *
 * <p>One queue for each (queue of edges, source), ordered by position, turn, then edge. The next record is
 * the head with the smallest timestamp; ties go to the smaller queue, then source. So a slow input waits for none and
 * overtakes none, whatever the shuffle did: Spark hands over one source partition after the other,
 * and a sort that spills breaks even the order within one.
 *
 * <p>The whole micro-batch of the task is held in memory. Threads: not shared. Source: Kafka
 * Streams PartitionGroup.
 */
final class Merge extends AbstractIterator<Envelope> {
  private static final Comparator<Queue> BY_HEAD = Merge::compareHeads;

  private final PriorityQueue<Queue> others = new PriorityQueue<>(BY_HEAD);
  private Queue current;

  /** @param queueOf the queue of an edge */
  Merge(scala.collection.Iterator<Envelope> records, IntUnaryOperator queueOf) {
    Map<Long, Queue> queues = new HashMap<>();
    Queue last = null;
    long lastId = 0;
    while (records.hasNext()) {
      Envelope record = records.next();
      int rank = queueOf.applyAsInt(record.edge());
      long id = (long) rank << 32 | record.source() & 0xFFFFFFFFL;
      if (last == null || id != lastId) {
        last = queues.computeIfAbsent(id, unused -> new Queue(rank));
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
    Envelope a = left.head();
    Envelope b = right.head();
    int order = Long.compare(a.ts(), b.ts());
    if (order == 0) {
      order = Integer.compare(left.rank, right.rank);
    }
    return order == 0 ? Integer.compare(a.source(), b.source()) : order;
  }

  private static final class Queue {
    private static final Comparator<Envelope> IN_QUEUE =
        Comparator.comparingLong(Envelope::position)
            .thenComparingInt(Envelope::turn)
            .thenComparingInt(Envelope::edge);

    private final int rank;
    private final List<Envelope> waiting = new ArrayList<>();
    private Envelope last;
    private boolean sorted = true;
    private Iterator<Envelope> rest;
    private Envelope head;

    Queue(int rank) {
      this.rank = rank;
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
