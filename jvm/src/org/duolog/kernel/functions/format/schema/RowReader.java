package org.duolog.kernel.functions.format.schema;

import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Reads the bytes of a record's key or value as a row of columns.
 *
 * <p>Bytes that cannot be read, of whatever content, are a {@code SerializationException} of Kafka,
 * whose message is one line for people; {@link SchemaReader} converts other exceptions to it. A
 * {@link RegistryAwayException} passes through: the record is not to blame. Threads: one at a time.
 */
@FunctionalInterface
public interface RowReader {
  /** Returns the columns; null if the bytes stand for a missing key or value. */
  InternalRow read(byte[] bytes);
}
