package org.duolog.kernel.task;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.TopicPartition;

/**
 * Reads partitions in threads of their own through the order of a start, and processes the records in threads of
 * their own again; prints a word for each step.
 */
public final class StartOrderSteps {
  private static final String APPLICATION = "a";
  private static final long LONG_NS = TimeUnit.MINUTES.toNanos(10);
  private static final int RECORDS = 1000;
  private static final int TASKS = 2;
  private static final long STEP_MS = 50;
  private static final long END = -1;
  private static final TopicPartition ONE = new TopicPartition("s", 0);
  private static final TopicPartition TWO = new TopicPartition("s", 1);
  private static final TopicPartition NEW = new TopicPartition("s", 2);
  private static final List<TopicPartition> ALL = List.of(ONE, TWO, NEW);

  private final List<Long> processed = Collections.synchronizedList(new ArrayList<>());

  private StartOrderSteps() {}

  public static void main(String[] args) throws InterruptedException {
    new StartOrderSteps().processes();
    waitsForTheLast();
    looksAgain();
    readsBeyondTheEnd();
    whatEnds();
    whatIsNoRecord();
    whatIsNotReadOn();
    whoIsClosed();
  }

  /** All records of two partitions, and a new one of a third, on their way to two tasks. */
  private void processes() throws InterruptedException {
    StartOrder order = opened(new Broker(RECORDS, RECORDS, 0), 0);
    List<LinkedBlockingQueue<Long>> ways = new ArrayList<>();
    List<Thread> tasks = new ArrayList<>();
    for (int i = 0; i < TASKS; i++) {
      LinkedBlockingQueue<Long> way = new LinkedBlockingQueue<>();
      ways.add(way);
      tasks.add(started(() -> process(order, way)));
    }
    List<Thread> readers = new ArrayList<>();
    for (TopicPartition of : ALL) {
      List<Long> times = of.equals(NEW) ? List.of(10_000_000L) : times(of.partition());
      readers.add(started(() -> read(order, of, times, ways)));
    }
    join(readers);
    ways.forEach(way -> way.add(END));
    join(tasks);
    List<Long> steps = processed.stream().map(time -> Math.floorDiv(time, STEP_MS)).toList();
    System.out.println(steps.equals(steps.stream().sorted().toList()) ? "sorted" : "unsorted");
    System.out.println(steps.size());
    System.out.println(StartOrder.of(APPLICATION) == null ? "over" : "waits");
  }

  private static void read(
      StartOrder order,
      TopicPartition of,
      List<Long> times,
      List<LinkedBlockingQueue<Long>> ways) {
    long ended = order.endedSoFar();
    for (int offset = 0; offset < times.size(); offset++) {
      boolean isLast = order.pass(of, offset, times.get(offset), ended);
      order.sent();
      ways.get((of.partition() + offset) % TASKS).add(times.get(offset));
      if (isLast) {
        order.read(of);
      }
    }
  }

  private void process(StartOrder order, LinkedBlockingQueue<Long> way) {
    Random random = new Random(1);
    try {
      for (long time; (time = way.take()) != END; ) {
        LockSupport.parkNanos(random.nextInt(100_000));
        processed.add(time);
        order.processed();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static List<Long> times(int seed) {
    Random random = new Random(seed);
    List<Long> times = new ArrayList<>();
    long time = 0;
    for (int i = 0; i < RECORDS; i++) {
      time += random.nextInt(4);
      times.add(time);
    }
    return times;
  }

  /** The order does not end while a record that was found is still on its way to a task. */
  private static void waitsForTheLast() throws InterruptedException {
    StartOrder order = opened(new Broker(1, 0, 0), 0);
    List<Long> passed = Collections.synchronizedList(new ArrayList<>());
    order.pass(ONE, 0, 0, order.endedSoFar());
    order.sent();
    order.read(ONE);
    Thread later = started(() -> pass(order, NEW, 0, 9_000, passed));
    awaitPause(later);
    System.out.println(passed.isEmpty() ? "waits-for-last" : "overtook");
    order.processed();
    later.join();
  }

  /** Records that arrived during the order are ordered, too. */
  private static void looksAgain() throws InterruptedException {
    Broker broker = new Broker(1, 1, 0);
    StartOrder order = opened(broker, 0);
    List<Long> passed = Collections.synchronizedList(new ArrayList<>());
    join(List.of(started(() -> pass(order, ONE, 0, 0, passed)), started(() -> pass(order, TWO, 0, 0, passed))));
    broker.ends(2, 2, 0);
    order.read(ONE);
    order.read(TWO);
    Thread later = started(() -> pass(order, ONE, 1, 9_000, passed));
    awaitPause(later);
    pass(order, TWO, 1, 8_000, passed);
    order.read(TWO);
    later.join();
    System.out.println(passed.equals(List.of(0L, 0L, 8_000L, 9_000L)) ? "looked-again" : passed);
  }

  /** A record after the end that was found has been read when the order looks again. */
  private static void readsBeyondTheEnd() {
    Broker broker = new Broker(1, 0, 0);
    StartOrder order = StartOrder.open(APPLICATION, ALL, Map.of(), broker, 0, 1);
    order.pass(ONE, 0, 0, order.endedSoFar());
    order.read(ONE);
    order.pass(ONE, 1, 10, order.endedSoFar());
    broker.ends(2, 1, 0);
    order.pass(TWO, 0, 9_000, order.endedSoFar());
    System.out.println(StartOrder.of(APPLICATION) == null ? "waited" : "read-beyond");
  }

  /** Returns when a thread waits or has ended. */
  private static void awaitPause(Thread thread) {
    while (thread.isAlive() && thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }

  private static void pass(
      StartOrder order, TopicPartition of, long offset, long time, List<Long> passed) {
    order.pass(of, offset, time, order.endedSoFar());
    passed.add(time);
  }

  /** When the task of a partition has ended its epoch, the tasks of the others end theirs. */
  private static void whatEnds() throws InterruptedException {
    StartOrder order = opened(new Broker(5, 5, 0), 0);
    long ended = order.endedSoFar();
    List<String> found = Collections.synchronizedList(new ArrayList<>());
    Thread waiting =
        started(
            () -> {
              order.pass(ONE, 0, 7, ended);
              found.add(StartOrder.stopsTask() ? "ended" : "reads-on");
              order.ended();
              found.add(StartOrder.stopsTask() ? "stopped" : "next-epoch");
            });
    order.ended();
    waiting.join();
    found.forEach(System.out::println);
  }

  /** The marker at the end of a transaction is not a record. */
  private static void whatIsNoRecord() {
    Broker broker = new Broker(1, 5, 0);
    broker.schedulePollTask(() -> broker.seek(TWO, 5));
    StartOrder order = opened(broker, 0);
    order.pass(ONE, 0, 7, order.endedSoFar());
    System.out.println("no-record");
  }

  /** Nor does a record wait for ever if a partition is not read on. */
  private static void whatIsNotReadOn() {
    StartOrder order = StartOrder.open(APPLICATION, ALL, Map.of(), new Broker(5, 5, 0), 0, 1);
    order.pass(ONE, 0, 7, order.endedSoFar());
    System.out.println(StartOrder.of(APPLICATION) == null ? "gone-on" : "waits");
  }

  private static void whoIsClosed() throws InterruptedException {
    Broker broker = new Broker(5, 5, 0);
    broker.schedulePollTask(() -> broker.addRecord(TWO, 0));
    StartOrder order = opened(broker, 0);
    Thread waiting = started(() -> order.pass(ONE, 0, 7, order.endedSoFar()));
    broker.awaitLook(1);
    StartOrder.close(APPLICATION);
    waiting.join();
    System.out.println("closed");
  }

  private static StartOrder opened(Broker broker, long levelNs) {
    return StartOrder.open(APPLICATION, ALL, Map.of(), broker, levelNs, LONG_NS);
  }

  private static Thread started(Runnable run) {
    Thread thread = new Thread(run);
    thread.start();
    return thread;
  }

  private static void join(List<Thread> threads) throws InterruptedException {
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /** Partitions whose ends the program decides. */
  private static final class Broker extends MockConsumer<byte[], byte[]> {
    private int looks;

    Broker(long one, long two, long unread) {
      super(OffsetResetStrategy.NONE);
      ends(one, two, unread);
    }

    void ends(long one, long two, long unread) {
      updateEndOffsets(Map.of(ONE, one, TWO, two, NEW, unread));
    }

    void addRecord(TopicPartition of, long offset) {
      addRecord(
          new ConsumerRecord<>(
              of.topic(), of.partition(), offset, new byte[1], new byte[1]));
    }

    synchronized void awaitLook(int number) throws InterruptedException {
      while (looks < number) {
        wait();
      }
    }

    @Override
    public synchronized Map<TopicPartition, Long> endOffsets(
        Collection<TopicPartition> partitions, Duration timeout) {
      looks++;
      notifyAll();
      return super.endOffsets(partitions, timeout);
    }
  }
}
