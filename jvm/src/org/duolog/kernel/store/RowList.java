package org.duolog.kernel.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * The rows of one key in one time bucket, in order of arrival, with duplicates.
 *
 * <p>Stored in chunks, so that appending a row rewrites only the last chunk:
 *
 * <pre>
 *   first chunk   number of chunks, row, row, …
 *   others        row, row, …
 *   row           timestamp, size, UnsafeRow                8 bytes, 8 bytes, size
 * </pre>
 *
 * <p>Numbers are in native byte order, like those of an UnsafeRow. Threads: one at a time.
 */
final class RowList {
  private static final int CHUNK_BYTES = 4096;
  private static final int HEAD = Long.BYTES;
  private static final int ROW_HEAD = 2 * Long.BYTES;

  final long bucket;
  final UnsafeRow key;
  private final List<Chunk> chunks = new ArrayList<>();

  /** The number of chunks in the state. */
  private int stored;

  private boolean dirty;

  /** Creates a list that is not in the state, or is still to be read. */
  RowList(long bucket, UnsafeRow key) {
    this.bucket = bucket;
    this.key = key;
  }

  /** Receives a row, which is valid until the list is cleared. */
  interface Visitor {
    void visit(UnsafeRow row, long ts);
  }

  void read(BucketStore state) {
    byte[] first = state.bytes(bucket, keyOf(0));
    if (first != null) {
      stored = (int) Platform.getLong(first, Platform.BYTE_ARRAY_OFFSET);
      chunks.add(new Chunk(first));
      for (int i = 1; i < stored; i++) {
        chunks.add(new Chunk(state.bytes(bucket, keyOf(i))));
      }
    }
  }

  /**
   * Returns the key of the list if a key of the state is that of a first chunk; null for other
   * chunks.
   */
  static UnsafeRow ofFirstChunk(UnsafeRow key) {
    byte[] bytes = key.getBytes();
    int at = bytes.length - Long.BYTES;
    boolean isFirst = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at) == 0;
    return isFirst ? raw(Arrays.copyOf(bytes, at)) : null;
  }

  /** Returns a row whose columns are not accessed. */
  static UnsafeRow raw(byte[] bytes) {
    UnsafeRow row = new UnsafeRow(0);
    row.pointTo(bytes, bytes.length);
    return row;
  }

  boolean isEmpty() {
    return chunks.isEmpty();
  }

  boolean isDirty() {
    return dirty;
  }

  /** Returns its size in memory. */
  int bytes() {
    int sum = key.getSizeInBytes();
    for (Chunk chunk : chunks) {
      sum += chunk.bytes.length;
    }
    return sum;
  }

  void add(UnsafeRow row, long ts) {
    if (chunks.isEmpty() || last().size >= CHUNK_BYTES) {
      chunks.add(new Chunk(chunks.isEmpty() ? HEAD : 0));
      Chunk first = chunks.get(0);
      Platform.putLong(first.bytes, Platform.BYTE_ARRAY_OFFSET, chunks.size());
      first.dirty = true;
    }
    last().add(row, ts);
    dirty = true;
  }

  void clear() {
    chunks.clear();
    dirty = true;
  }

  /** Discards unwritten changes. */
  void forget() {
    dirty = false;
  }

  /** Visits the rows in order of arrival. */
  void visit(int columns, Visitor visitor) {
    int at = HEAD;
    for (Chunk chunk : chunks) {
      for (; at < chunk.size; at += ROW_HEAD + chunk.number(at + Long.BYTES)) {
        UnsafeRow row = new UnsafeRow(columns);
        long place = Platform.BYTE_ARRAY_OFFSET + at + ROW_HEAD;
        row.pointTo(chunk.bytes, place, (int) chunk.number(at + Long.BYTES));
        visitor.visit(row, chunk.number(at));
      }
      at = 0;
    }
  }

  void write(BucketStore state) {
    for (int i = 0; i < chunks.size(); i++) {
      Chunk chunk = chunks.get(i);
      if (chunk.dirty) {
        state.putBytes(bucket, keyOf(i), Arrays.copyOf(chunk.bytes, chunk.size));
        chunk.dirty = false;
      }
    }
    for (int i = chunks.size(); i < stored; i++) {
      state.delete(bucket, keyOf(i));
    }
    stored = chunks.size();
    dirty = false;
  }

  private Chunk last() {
    return chunks.get(chunks.size() - 1);
  }

  private UnsafeRow keyOf(int chunk) {
    byte[] own = key.getBytes();
    byte[] bytes = Arrays.copyOf(own, own.length + Long.BYTES);
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + own.length, chunk);
    return raw(bytes);
  }

  private static final class Chunk {
    byte[] bytes;
    int size;
    boolean dirty;

    Chunk(byte[] bytes) {
      this.bytes = bytes;
      this.size = bytes.length;
    }

    Chunk(int head) {
      bytes = new byte[128];
      size = head;
    }

    long number(int at) {
      return Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at);
    }

    void add(UnsafeRow row, long ts) {
      int end = size + ROW_HEAD + row.getSizeInBytes();
      if (end > bytes.length) {
        bytes = Arrays.copyOf(bytes, Math.max(end, 2 * bytes.length));
      }
      long place = Platform.BYTE_ARRAY_OFFSET + size;
      Platform.putLong(bytes, place, ts);
      Platform.putLong(bytes, place + Long.BYTES, row.getSizeInBytes());
      row.writeToMemory(bytes, place + ROW_HEAD);
      size = end;
      dirty = true;
    }
  }
}
