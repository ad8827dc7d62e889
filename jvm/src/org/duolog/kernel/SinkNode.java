package org.duolog.kernel;

/**
 * Serializes records for a sink topic; a null value is a tombstone.
 *
 * <p>Threads: one at a time.
 */
final class SinkNode extends Node {
  private static final long serialVersionUID = 1L;

  private final int sink;
  private final Program keyBytes;
  private final Program valueBytes;
  private final int keyColumns;
  private final int valueColumns;
  private transient Operands operands;

  SinkNode(int sink, Program keyBytes, Program valueBytes, int keyColumns, int valueColumns) {
    this.sink = sink;
    this.keyBytes = own(keyBytes);
    this.valueBytes = own(valueBytes);
    this.keyColumns = keyColumns;
    this.valueColumns = valueColumns;
  }

  @Override
  void open(Scope scope, int partition) {
    super.open(scope, partition);
    operands = new Operands(keyColumns, valueColumns, 0);
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
    scope.emitToSink(new Envelope(Envelope.edgeOfSink(sink), key, value, null, change.ts));
  }
}
