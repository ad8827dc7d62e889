package org.duolog.kernel.topology;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.task.StartOrder;
import org.duolog.kernel.task.TableGate;

/**
 * The input of several topics that one Spark source reads. Each task has the records of one
 * partition, so its first record determines the topic.
 *
 * <p>Threads: {@link #call} runs in many tasks at once, each with its own deserialized copy.
 */
public final class MultiTopicReader implements MapPartitionsFunction<SourceRecord, Envelope> {
  private static final long serialVersionUID = 1L;

  private final HashMap<String, TopicReader> readers = new HashMap<>();

  public MultiTopicReader(List<TopicReader> readers) {
    readers.forEach(reader -> this.readers.put(reader.topic(), reader));
  }

  @Override
  public Iterator<Envelope> call(Iterator<SourceRecord> records) {
    return call(records, null);
  }

  /** The same, but without a shuffle unless {@code direct} is null. */
  public Iterator<Envelope> call(Iterator<SourceRecord> records, PartitionRouting direct) {
    return new Run(records, direct);
  }

  private final class Run implements Iterator<Envelope> {
    private final Iterator<SourceRecord> records;
    private final TableGate gate = readers.values().iterator().next().gate();
    private final long endedAtStart = gate == null ? 0 : gate.endedSoFar();
    private Iterator<Envelope> outputs;
    private final PartitionRouting direct;
    private StartOrder order = readers.values().iterator().next().order();
    private SourceRecord first;

    Run(Iterator<SourceRecord> records, PartitionRouting direct) {
      this.records = records;
      this.direct = direct;
    }

    @Override
    public boolean hasNext() {
      if (outputs == null) {
        if (!records.hasNext()) {
          end();
          return false;
        }
        open();
      }
      return outputs.hasNext();
    }

    @Override
    public Envelope next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return outputs.next();
    }

    /** No record has come in this epoch. */
    private void end() {
      if (order != null) {
        order.ended();
        order = null;
      }
    }

    private void open() {
      first = records.next();
      String topic = first.getTopic();
      TopicReader reader = readers.get(topic);
      if (reader == null) {
        throw new IllegalStateException("no source reads topic " + topic);
      }
      outputs = reader.call(new FromFirst(), direct, gate, endedAtStart);
    }

    /** All records including the first; they must be of one topic. */
    private final class FromFirst implements Iterator<SourceRecord> {
      private final String topic = first.getTopic();

      @Override
      public boolean hasNext() {
        return first != null || records.hasNext();
      }

      @Override
      public SourceRecord next() {
        SourceRecord record = first == null ? records.next() : first;
        first = null;
        if (!topic.equals(record.getTopic())) {
          throw new IllegalStateException(
              "records of " + topic + " and " + record.getTopic() + " come in one partition");
        }
        return record;
      }
    }
  }
}
