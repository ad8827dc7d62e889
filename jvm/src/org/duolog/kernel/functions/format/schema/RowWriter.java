package org.duolog.kernel.functions.format.schema;

import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Writes a row of columns as the bytes of a record's key or value. A row that the schema does not
 * allow is a {@code SerializationException} of Kafka. Threads: one at a time.
 */
@FunctionalInterface
public interface RowWriter {
  /** Returns the bytes; null for a record without key or value. */
  byte[] write(InternalRow row);
}
