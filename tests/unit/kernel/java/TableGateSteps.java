package org.duolog.kernel.task;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.duolog.kernel.metrics.Metrics;

/**
 * Passes records of the stream "s" through the gate of the table "t", whose end the program controls.
 *
 * <p>Prints a word for each step: what had happened when the record passed. Events to wait for happen a moment later,
 * on another thread.
 */
public final class TableGateSteps {
  private static final String APPLICATION = "a";
  private static final TopicPartition TABLE = new TopicPartition("t", 0);
  private static final TopicPartition STREAM = new TopicPartition("s", 0);

  private static volatile String happened = "nothing";

  private TableGateSteps() {}

  public static void main(String[] args) throws InterruptedException {
    Broker broker = new Broker();
    broker.ends(5, 3);
    TableGate gate = opened(broker, "{}");
    AtomicLong position = Metrics.of(APPLICATION).position("t", 0);

    broker.schedulePollTask(
        () -> broker.addRecord(new ConsumerRecord<>("t", 0, 0, new byte[1], new byte[1])));
    whileWaiting("read", () -> position.set(5), () -> pass(gate, 0));
    // All records that the broker had then have been read.
    int asked = broker.asked;
    pass(gate, 1);
    pass(gate, 2);
    System.out.println(broker.asked == asked ? "unasked" : "asked");
    // A later record fetches the ends again.
    broker.ends(7, 4);
    broker.schedulePollTask(
        () -> broker.addRecord(new ConsumerRecord<>("t", 0, 5, new byte[1], new byte[1])));
    whileWaiting("read-again", () -> position.set(7), () -> pass(gate, 3));
    // Rows that are read must reach their stores.
    gate.sent();
    gate.sent();
    gate.arrived();
    whileWaiting("arrived", gate::arrived, () -> pass(gate, 4));
    // The last record is followed by a transaction marker, which no task reads.
    for (int end = 8; end < 12; end++) {
      broker.ends(end, 5);
      long reached = end;
      broker.schedulePollTask(() -> broker.seek(TABLE, reached));
      pass(gate, end);
    }
    System.out.println("settled");
    // At the end of an epoch tables are not read any further.
    broker.ends(20, 30);
    long endedAtStart = gate.endedSoFar();
    broker.schedulePollTask(
        () -> broker.addRecord(new ConsumerRecord<>("t", 0, 12, new byte[1], new byte[1])));
    whileWaiting("ended", gate::ended, () -> gate.pass("s", 0, 20, endedAtStart));
    // Nor does a record wait until the stream's task has ended too.
    broker.ends(21, 41);
    int polled = broker.polled;
    gate.pass("s", 0, 41, endedAtStart);
    System.out.println(broker.polled == polled ? "still-ended" : "waited");
    // Another query starts at the end of the table.
    Broker other = new Broker().ends(50, 60);
    pass(opened(other, "{\"t\":{\"0\":50}}"), 40);
    System.out.println(other.polled == 0 ? "began-there" : "waited");
    Broker last = new Broker().ends(90, 90);
    TableGate closing = opened(last, "{}");
    last.schedulePollTask(
        () -> last.addRecord(new ConsumerRecord<>("t", 0, 60, new byte[1], new byte[1])));
    whileWaiting("closed", () -> TableGate.close(APPLICATION), () -> pass(closing, 70));
  }

  private static TableGate opened(Broker broker, String starts) {
    TableGate.open(APPLICATION, List.of("t"), List.of("s"), starts, broker);
    return TableGate.of(APPLICATION);
  }

  private static void pass(TableGate gate, long offset) {
    gate.pass("s", 0, offset, gate.endedSoFar());
  }

  private static void whileWaiting(String name, Runnable happens, Runnable waits)
      throws InterruptedException {
    happened = "nothing";
    Thread thread =
        new Thread(
            () -> {
              try {
                TimeUnit.MILLISECONDS.sleep(100);
              } catch (InterruptedException e) {
                return;
              }
              happened = name;
              happens.run();
            });
    thread.start();
    waits.run();
    System.out.println(happened);
    thread.join();
  }

  /** A broker with one partition for each topic. */
  private static final class Broker extends MockConsumer<byte[], byte[]> {
    private volatile int asked;
    private volatile int polled;

    Broker() {
      super(OffsetResetStrategy.NONE);
      for (TopicPartition each : List.of(TABLE, STREAM)) {
        updatePartitions(
            each.topic(), List.of(new PartitionInfo(each.topic(), 0, null, null, null)));
      }
    }

    Broker ends(long table, long stream) {
      updateEndOffsets(Map.of(TABLE, table, STREAM, stream));
      return this;
    }

    @Override
    public synchronized Map<TopicPartition, Long> endOffsets(
        Collection<TopicPartition> partitions, Duration timeout) {
      asked++;
      return super.endOffsets(partitions, timeout);
    }

    @Override
    public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
      polled++;
      return super.poll(timeout);
    }
  }
}
