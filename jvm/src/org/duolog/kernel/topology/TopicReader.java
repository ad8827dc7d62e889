package org.duolog.kernel.topology;

import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.util.TaskCompletionListener;
import org.duolog.kernel.metrics.Metrics;
import org.duolog.kernel.metrics.TaskCounts;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.IdleTicks;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.task.StartOrder;
import org.duolog.kernel.task.TableGate;

/**
 * The input of a topic: passes each record to all sources that read the topic, tables first.
 *
 * <p>So a topic that is read as a stream and as a table is read only once. In both modes a record
 * finds the row that it carries, as if the table preceded the stream at its timestamp.
 *
 * <p>Threads: {@link #call} runs in many tasks at once, each with its own deserialized copy.
 */
public final class TopicReader implements MapPartitionsFunction<SourceRecord, Envelope> {
  private static final long serialVersionUID = 1L;
  private static final int COUNTED_AT_ONCE = 256;
  private static final int NO_PARTITION = -1;

  private final String applicationId;
  private final String run;
  private final String topic;
  private final boolean realTime;
  private final Ingress[] ingresses;

  /** @param run the run of the application, as {@link Metrics} names it */
  TopicReader(
      String applicationId,
      String run,
      String topic,
      boolean realTime,
      List<Ingress> ingresses) {
    this.applicationId = applicationId;
    this.run = run;
    this.topic = topic;
    this.realTime = realTime;
    this.ingresses =
        ingresses.stream()
            .sorted(Comparator.comparing(ingress -> !ingress.isTable()))
            .toArray(Ingress[]::new);
  }

  public String topic() {
    return topic;
  }

  @Override
  public Iterator<Envelope> call(Iterator<SourceRecord> records) {
    TableGate gate = gate();
    return call(records, null, gate, gate == null ? 0 : gate.endedSoFar());
  }

  /** Returns the gate at which records of streams wait; null if they do not wait. */
  TableGate gate() {
    return realTime ? TableGate.of(applicationId) : null;
  }

  /**
   * Returns the order of the records that were found at the start; null if they are not ordered.
   */
  StartOrder order() {
    return realTime ? StartOrder.of(applicationId) : null;
  }

  /** The same for a task that started after this many tasks of tables had ended. */
  Iterator<Envelope> call(
      Iterator<SourceRecord> records, PartitionRouting direct, TableGate gate, long endedAtStart) {
    Run run = new Run(records, direct, gate, endedAtStart);
    TaskContext context = TaskContext.get();
    if (context != null) {
      TaskCompletionListener closing = ended -> run.close();
      context.addTaskCompletionListener(closing);
    }
    return run;
  }

  private final class Run implements Iterator<Envelope> {
    private final Iterator<SourceRecord> records;
    private final Ingress.Run[] runs = new Ingress.Run[ingresses.length];
    private final Metrics metrics = Metrics.of(run);
    private int partition = NO_PARTITION;
    private AtomicLong position;
    private TaskCounts counts;
    private final TableGate gate;
    private final long endedAtStart;
    private final StartOrder order = order();
    private final long orderEndedAtStart = order == null ? 0 : order.endedSoFar();
    private TopicPartition lastOfStart;
    private long recordsIn;
    private long bytesIn;
    private boolean closed;

    Run(
        Iterator<SourceRecord> records,
        PartitionRouting direct,
        TableGate gate,
        long endedAtStart) {
      this.records = records;
      this.gate = gate;
      this.endedAtStart = endedAtStart;
      for (int i = 0; i < runs.length; i++) {
        runs[i] = ingresses[i].open(direct);
      }
    }

    @Override
    public boolean hasNext() {
      while (waiting() == null && hasRecord()) {
        process(records.next());
      }
      if (waiting() == null) {
        for (Ingress.Run run : runs) {
          run.finish();
        }
      }
      if (waiting() == null) {
        close();
        return false;
      }
      return true;
    }

    /** May wait for one; what the record before it has put out has left. */
    private boolean hasRecord() {
      if (lastOfStart != null) {
        order.read(lastOfStart);
        lastOfStart = null;
      }
      return records.hasNext();
    }

    @Override
    public Envelope next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Envelope next = waiting().outputs().poll();
      if (order != null && !next.forSink()) {
        order.sent();
      }
      return next;
    }

    /** Returns the first source with outputs that have not left. */
    private Ingress.Run waiting() {
      for (Ingress.Run run : runs) {
        if (!run.outputs().isEmpty()) {
          return run;
        }
      }
      return null;
    }

    /** The records of a Spark task usually come from one partition. */
    private void enter(int next) {
      partition = next;
      position = metrics.position(topic, partition);
      boolean isOurs = topic.equals(IdleTicks.TOPIC);
      counts = isOurs ? new TaskCounts() : metrics.task(topic + "-" + partition);
      for (Ingress.Run run : runs) {
        run.count(counts);
      }
    }

    private void process(SourceRecord record) {
      if (record.getOffset() == SourceRecord.NO_OFFSET) {
        for (Ingress.Run run : runs) {
          run.wake();
        }
        return;
      }
      if (record.getPartition() != partition) {
        enter(record.getPartition());
      }
      counts.observe(record.getTs());
      if (!topic.equals(IdleTicks.TOPIC)) {
        recordsIn++;
        bytesIn += length(record.getKey()) + length(record.getValue());
        if (realTime || recordsIn == COUNTED_AT_ONCE) {
          count();
        }
      }
      if (order != null && isOrdered()) {
        TopicPartition at = new TopicPartition(topic, record.getPartition());
        if (order.pass(at, record.getOffset(), record.getTs(), orderEndedAtStart)) {
          lastOfStart = at;
        }
      }
      if (gate != null && !gate.isTable(topic)) {
        gate.pass(topic, record.getPartition(), record.getOffset(), endedAtStart);
      }
      for (int i = 0; i < runs.length; i++) {
        runs[i].process(record);
        if (gate != null && ingresses[i].isTable()) {
          runs[i].outputs().stream().filter(row -> !row.forSink()).forEach(row -> gate.sent());
        }
      }
      position.lazySet(record.getOffset() + 1);
    }

    /** Tables are read ahead of all streams; ticks are of no topic. */
    private boolean isOrdered() {
      return !topic.equals(IdleTicks.TOPIC) && (gate == null || !gate.isTable(topic));
    }

    private void count() {
      metrics.recordsIn.add(recordsIn);
      metrics.bytesIn.add(bytesIn);
      recordsIn = 0;
      bytesIn = 0;
    }

    /** May be called twice: at the end of the input and at the end of the task. */
    private void close() {
      count();
      for (Ingress.Run run : runs) {
        run.close();
      }
      if (!closed && gate != null && gate.isTable(topic)) {
        gate.ended();
      }
      if (!closed && order != null && isOrdered()) {
        order.ended();
      }
      closed = true;
    }

    private static int length(byte[] bytes) {
      return bytes == null ? 0 : bytes.length;
    }
  }
}
