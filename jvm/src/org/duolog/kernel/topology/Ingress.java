package org.duolog.kernel.topology;

import java.io.Serializable;
import java.util.List;
import java.util.Queue;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.LongAccumulator;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.metrics.TaskCounts;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.task.Timestamps;

/**
 * The input of a source: turns Kafka's bytes into rows, passes them through the nodes before the
 * first cut, and emits envelopes.
 *
 * <p>A record that cannot be read, or has an invalid timestamp, goes to the handler of
 * deserialization errors. Threads: each task has its own deserialized copy.
 */
final class Ingress implements Serializable {
  private static final long serialVersionUID = 1L;

  private final int id;
  private final String topic;
  private final int topicNumber;
  private final boolean isTable;
  private final Reading reading;
  private final Node[] nodes;
  private final Node[] children;
  private final Grouping grouping;
  private final ErrorHandlers handlers;
  private final boolean realTime;
  private final LongAccumulator corruptRecords;

  /**
   * Parents precede their children in {@code nodes}; {@code children} are the nodes that read the
   * source itself.
   *
   * @param topicNumber the index of the topic in the application
   */
  Ingress(
      int id,
      String topic,
      int topicNumber,
      boolean isTable,
      Reading reading,
      List<Node> nodes,
      List<Node> children,
      Grouping grouping,
      ErrorHandlers handlers,
      boolean realTime,
      LongAccumulator corruptRecords) {
    this.id = id;
    this.topic = topic;
    this.topicNumber = topicNumber;
    this.isTable = isTable;
    this.reading = reading;
    this.nodes = nodes.toArray(Node[]::new);
    this.children = children.toArray(Node[]::new);
    this.grouping = grouping;
    this.handlers = handlers;
    this.realTime = realTime;
    this.corruptRecords = corruptRecords;
  }

  String topic() {
    return topic;
  }

  boolean isTable() {
    return isTable;
  }

  /**
   * Opens everything for a task; the caller must close it.
   *
   * @param direct routes records to their tasks without a shuffle; null if there is a shuffle
   */
  Run open(PartitionRouting direct) {
    return new Run(direct);
  }

  /**
   * The expressions of a source. Layout: key, value, partition, offset, ts, topic, headers, p0, p1,
   * …
   *
   * @param parse computes p0, p1, …
   * @param checks compute the error text of a corrupt record (or null), and whether key and value
   *     are null
   */
  record Reading(
      Program parse, Program checks, Program keys, Program values, Timestamps timestamps)
      implements Serializable {
    private static final int CORRUPT = 0;
    private static final int KEY_NULL = 1;
    private static final int VALUE_NULL = 2;

    void open(int partition) {
      parse.open(partition);
      checks.open(partition);
      keys.open(partition);
      values.open(partition);
    }

    void close() {
      parse.close();
      checks.close();
      keys.close();
      values.close();
      timestamps.close();
    }
  }

  /** The work of one task. Threads: one at a time. */
  final class Run {
    private final NodeContext scope = new NodeContext(grouping, handlers, realTime, 0);
    private final Change change = new Change();
    private final GenericInternalRow raw = new GenericInternalRow(7);
    private final JoinedRow row = new JoinedRow();
    private final UTF8String topicName = UTF8String.fromString(topic);
    private final Timestamps.Run timestamps;

    private Run(PartitionRouting direct) {
      scope.direct = direct;
      scope.isPolled = true;
      int partition = TaskContext.getPartitionId();
      reading.open(partition);
      timestamps = reading.timestamps().open(partition);
      for (Node node : nodes) {
        node.open(scope, partition);
      }
    }

    /** Makes nodes count into this task. */
    void count(TaskCounts counts) {
      for (Node node : nodes) {
        node.counts = counts.node(node.name());
      }
    }

    /** The outputs so far; the caller removes them. */
    Queue<Envelope> outputs() {
      return scope.outputs;
    }

    /** May be called twice: at the end of the input and at the end of the task. */
    void close() {
      reading.close();
      timestamps.keep();
      for (Node node : nodes) {
        node.close();
      }
    }

    void process(SourceRecord record) {
      scope.enter(topicNumber, record.getPartition(), record.getOffset());
      scope.origin = handlers.originOf(id, record);
      scope.record = record;
      if (read(record)) {
        for (Node child : children) {
          scope.run(child, change);
        }
      }
      scope.release();
      if (scope.deferred != null) {
        scope.deferred.recordDone();
      }
    }

    /** Continues with records whose look-ups have been answered. */
    void wake() {
      if (scope.deferred != null) {
        scope.deferred.advance();
      }
    }

    /** Ends the input: records that wait for others continue. */
    void finish() {
      if (scope.deferred != null) {
        scope.deferred.flush();
      }
    }

    /** Fills the change; passes a bad record to its error handler. */
    private boolean read(SourceRecord record) {
      try {
        InternalRow parsed = parsed(record);
        InternalRow checks = reading.checks().apply(parsed);
        if (!checks.isNullAt(Reading.CORRUPT)) {
          drop(record, handlers, checks.getUTF8String(Reading.CORRUPT).toString());
          return false;
        }
        long ts = timestamps.of(record, parsed);
        if (ts < 0) {
          drop(record, reading.timestamps().handlers(), timestamps.problem());
          return false;
        }
        fill(record, parsed, checks, ts);
        return true;
      } catch (RecordException e) {
        drop(record, handlers, (Exception) e.getCause());
        return false;
      }
    }

    private InternalRow parsed(SourceRecord record) {
      raw.update(0, record.getKey());
      raw.update(1, record.getValue());
      raw.update(2, record.getPartition());
      raw.update(3, record.getOffset());
      raw.update(4, record.getTs());
      raw.update(5, topicName);
      raw.update(6, record.getHeaders());
      return row.apply(raw, reading.parse().apply(raw));
    }

    private void fill(SourceRecord record, InternalRow parsed, InternalRow checks, long ts) {
      change.set(
          holds(checks, Reading.KEY_NULL) ? null : reading.keys().apply(parsed),
          holds(checks, Reading.VALUE_NULL) ? null : reading.values().apply(parsed),
          null,
          ts,
          0,
          record.getHeaders());
    }

    private void drop(SourceRecord record, ErrorHandlers by, String problem) {
      drop(record, by, new SerializationException(problem));
    }

    private void drop(SourceRecord record, ErrorHandlers by, Exception cause) {
      corruptRecords.add(1);
      scope.handle(
          by, ErrorHandlers.Stage.DESERIALIZATION, record.getHeaders(), "", cause);
    }

    private static boolean holds(InternalRow checks, int index) {
      return !checks.isNullAt(index) && checks.getBoolean(index);
    }
  }
}
