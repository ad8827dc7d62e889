package org.duolog.kernel.store;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/**
 * Rows of one key in one bucket of time, in the order in which they came: none takes another's place.
 *
 * <p>It is kept in chunks, so that one more row rewrites the last chunk and not the list:
 *
 * <pre>
 *   first chunk   how many chunks there are, row, row, …
 *   others        row, row, …
 *   row           timestamp, size, UnsafeRow                8 bytes, 8 bytes, size
 * </pre>
 *
 * <p>Numbers are as the machine has them, like those of an UnsafeRow. Threads: one at a time.
 */
final class RowList {
  private static final int CHUNK_BYTES = 4096;
  private static final int HEAD = Long.BYTES;
  private static final int ROW_HEAD = 2 * Long.BYTES;

  final long bucket;
  final UnsafeRow key;
  private final List<Chunk> chunks = new ArrayList<>();

  /** How many chunks the state has. */
  private int stored;

  private boolean dirty;

  /** A list of which the state has nothing, or that is still to be read. */
  RowList(long bucket, UnsafeRow key) {
    this.bucket = bucket;
    this.key = key;
  }

  /** Takes a row, which it may keep as long as the list is not cleared. */
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

  /** The key of the list that a key of the state is the first chunk's of; null for another chunk's. */
  static UnsafeRow ofFirstChunk(UnsafeRow key) {
    byte[] bytes = key.getBytes();
    int at = bytes.length - Long.BYTES;
    boolean isFirst = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at) == 0;
    return isFirst ? raw(Arrays.copyOf(bytes, at)) : null;
  }

  /** A row whose columns nobody asks for. */
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

  /** How much memory it takes. */
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

  /** Nobody wants what was not written yet. */
  void forget() {
    dirty = false;
  }

  /** Visits the rows in the order in which they came. */
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
