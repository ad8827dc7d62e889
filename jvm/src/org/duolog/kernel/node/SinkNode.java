package org.duolog.kernel.node;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;

/**
 * Serializes records for a sink topic; a null value is a tombstone.
 *
 * <p>A record may choose its topic and its partition; null stands for the sink's topic and the
 * partition of its key. Source: Kafka Streams TopicNameExtractor, StreamPartitioner. Threads: one
 * at a time.
 */
final class SinkNode extends Node {
  private static final long serialVersionUID = 1L;
  private static final int TOPIC = 0;
  private static final int PARTITION = 1;

  private final int sink;
  private final Program keyBytes;
  private final Program valueBytes;
  private final Program target;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  /** @param target computes topic and partition; null if records do not choose */
  SinkNode(
      int sink,
      Program keyBytes,
      Program valueBytes,
      Program target,
      int keyColumns,
      int valueColumns) {
    this.sink = sink;
    this.keyBytes = own(keyBytes);
    this.valueBytes = own(valueBytes);
    this.target = target == null ? null : own(target);
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0, scope);
  }

  @Override
  public ErrorHandlers.Stage stage() {
    return ErrorHandlers.Stage.PRODUCTION;
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  /** Returns the chosen partition. The producer checks that it exists. */
  private static int partition(UnsafeRow aim) {
    // A BIGINT: truncated to 32 bits it would be the number of another partition.
    long chosen = aim.getLong(PARTITION);
    if (chosen < 0 || chosen > Integer.MAX_VALUE) {
      throw new RecordException(new IllegalArgumentException("the partition is " + chosen));
    }
    return (int) chosen;
  }

  @Override
  public void process(Change change) {
    byte[] key =
        change.key == null
            ? null
            : keyBytes.bytes(operands.of(change.key, change.value, null, change.ts));
    byte[] value =
        change.value == null
            ? null
            : valueBytes.bytes(operands.of(change.key, change.value, null, change.ts));
    UTF8String topic = null;
    int partition = Envelope.ANY_PARTITION;
    if (target != null) {
      UnsafeRow aim = target.apply(operands.of(change.key, change.value, null, change.ts));
      topic = aim.isNullAt(TOPIC) ? null : aim.getUTF8String(TOPIC);
      partition = aim.isNullAt(PARTITION) ? Envelope.ANY_PARTITION : partition(aim);
    }
    counts.forward();
    scope.emitToSink(
        Envelope.toSink(
            sink, key, value, change.ts, change.headers, scope.origin, topic, partition));
  }
}
