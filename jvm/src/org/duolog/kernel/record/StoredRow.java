package org.duolog.kernel.record;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * A row as stores keep it; part of the checkpoint format.
 *
 * <pre>  bytes of an UnsafeRow ++ timestamp (8 bytes, big-endian)
 * </pre>
 */
public final class StoredRow {
  private StoredRow() {}

  public static byte[] encode(UnsafeRow row, long ts) {
    int size = row.getSizeInBytes();
    byte[] bytes = new byte[size + Long.BYTES];
    row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + size, Long.reverseBytes(ts));
    return bytes;
  }

  /** Returns the row in these bytes, without a copy. */
  public static UnsafeRow row(byte[] bytes, int columns) {
    UnsafeRow row = new UnsafeRow(columns);
    row.pointTo(bytes, bytes.length - Long.BYTES);
    return row;
  }

  public static long ts(byte[] bytes) {
    int at = bytes.length - Long.BYTES;
    return Long.reverseBytes(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at));
  }
}
