package org.duolog.kernel;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import scala.collection.AbstractIterator;

/**
 * The records of one task in one micro-batch, in Kafka Streams' order.
 *
 * <p>One queue for each (edge, source), ordered by position. The next record is the head with the
 * smallest timestamp; ties go to the smaller edge, then source. So a slow input waits for none and
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

  Merge(scala.collection.Iterator<Envelope> records) {
    Map<Long, Queue> queues = new HashMap<>();
    Queue last = null;
    long lastId = 0;
    while (records.hasNext()) {
      Envelope record = records.next();
      long id = (long) record.getEdge() << 32 | record.getSource() & 0xFFFFFFFFL;
      if (last == null || id != lastId) {
        last = queues.computeIfAbsent(id, unused -> new Queue());
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
    int order = Long.compare(a.getTs(), b.getTs());
    if (order == 0) {
      order = Integer.compare(a.getEdge(), b.getEdge());
    }
    return order == 0 ? Integer.compare(a.getSource(), b.getSource()) : order;
  }

  private static final class Queue {
    private final List<Envelope> waiting = new ArrayList<>();
    private long lastPosition = Long.MIN_VALUE;
    private boolean sorted = true;
    private Iterator<Envelope> rest;
    private Envelope head;

    void add(Envelope record) {
      sorted &= record.getPosition() >= lastPosition;
      lastPosition = record.getPosition();
      waiting.add(record);
    }

    void start() {
      if (!sorted) {
        waiting.sort(Comparator.comparingLong(Envelope::getPosition));
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
