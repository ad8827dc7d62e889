package org.duolog.kernel;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Serializes records for a sink topic; a null value is a tombstone.
 *
 * <p>A record may choose its topic and its partition; where it chooses null, it goes to the sink's
 * topic and to the partition of its key. Source: Kafka Streams TopicNameExtractor, StreamPartitioner.
 * Threads: one at a time.
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

  /**
   * @param target computes topic and partition; null where no record has its own
   */
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
  void open(Scope scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0);
  }

  @Override
  ErrorHandlers.Stage stage() {
    return ErrorHandlers.Stage.PRODUCTION;
  }

  @Override
  boolean needsOld() {
    return false;
  }

  @Override
  void process(Change change) {
    byte[] key =
        change.key == null
            ? null
            : keyBytes.bytes(operands.of(change.key, change.value, null, change.ts));
    byte[] value =
        change.value == null
            ? null
            : valueBytes.bytes(operands.of(change.key, change.value, null, change.ts));
    Envelope record = Envelope.toSink(sink, key, value, change.ts, change.headers);
    if (target != null) {
      aim(record, target.apply(operands.of(change.key, change.value, null, change.ts)));
    }
    scope.emitToSink(record);
  }

  private static void aim(Envelope record, UnsafeRow target) {
    if (!target.isNullAt(TOPIC)) {
      record.setTopic(target.getUTF8String(TOPIC).toString());
    }
    if (!target.isNullAt(PARTITION)) {
      record.setPartition(target.getInt(PARTITION));
    }
  }
}
