package org.duolog.kernel.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;

/**
 * Collects writes to a store and applies them sorted, in batches; of several writes to a key in a
 * batch only the last.
 *
 * <p>RocksDB keeps writes in a skip list, and searches from the position of the previous write: in
 * random order, two thirds of the time of a restore were cache misses. Keys are sorted as RocksDB
 * sorts their bytes; another order would only cost time.
 *
 * <p>Call {@link #flush} before reading the state. All instances of a JVM together hold only a
 * share of its heap, so batches are small if there are many tasks. Threads: one at a time. Source:
 * RocksDB's {@code InlineSkipList}, {@link BytesMap.Rows} for the bytes.
 */
public final class SortedWrites implements AutoCloseable {
  private static final int SHARE_OF_HEAP = 16;
  private static final long BYTES_MAX = 16 << 20;

  /**
   * The size that each instance may always hold, and the step in which it updates the shared total.
   */
  private static final long BYTES_MIN = 64 << 10;

  private static final AtomicLong HELD = new AtomicLong();

  /** The size of an entry's objects in addition to its bytes. */
  private static final int OVERHEAD = 96;

  private static final VarHandle HEAD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final MapState<byte[], byte[]> state;
  private final long bytesMax;
  private final long allBytesMax;
  private final List<Write> writes = new ArrayList<>();
  private long bytes;

  /** The part of these that {@link #HELD} includes. */
  private long reported;

  public SortedWrites(MapState<byte[], byte[]> state) {
    this(state, BYTES_MAX, Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP);
  }

  /**
   * @param bytesMax limit of this instance
   * @param allBytesMax limit of all instances of the JVM
   */
  SortedWrites(MapState<byte[], byte[]> state, long bytesMax, long allBytesMax) {
    this.state = state;
    this.bytesMax = bytesMax;
    this.allBytesMax = allBytesMax;
  }

  /** Returns what all instances of this JVM hold, without the last step of each. */
  static long held() {
    return HELD.get();
  }

  /**
   * A write; a null value removes.
   *
   * @param number the number under which Spark keeps the entry; least significant byte first, as
   *     are the lengths
   * @param head the first bytes of the key, so that keys are rarely compared
   */
  private record Write(long number, long head, byte[] key, byte[] value)
      implements Comparable<Write> {
    @Override
    public int compareTo(Write other) {
      if (number != other.number) {
        return Long.compareUnsigned(Long.reverseBytes(number), Long.reverseBytes(other.number));
      }
      if (key.length != other.key.length) {
        int row = BytesMap.Rows.size(key);
        int others = BytesMap.Rows.size(other.key);
        return row == others ? compare(key.length, other.key.length) : compare(row, others);
      }
      return head == other.head
          ? Arrays.compareUnsigned(key, other.key)
          : Long.compareUnsigned(head, other.head);
    }

    private static int compare(int length, int other) {
      return Integer.compareUnsigned(Integer.reverseBytes(length), Integer.reverseBytes(other));
    }

    private static long headOf(byte[] key) {
      if (key.length >= Long.BYTES) {
        return (long) HEAD.get(key, 0);
      }
      long head = 0;
      for (int i = 0; i < Long.BYTES; i++) {
        head = head << Byte.SIZE | (i < key.length ? Byte.toUnsignedLong(key[i]) : 0);
      }
      return head;
    }
  }

  public void put(long number, byte[] key, byte[] value) {
    writes.add(new Write(number, Write.headOf(key), key, value));
    bytes += OVERHEAD + key.length + (value == null ? 0 : value.length);
    if (bytes >= bytesMax || bytes - reported >= BYTES_MIN && reportHeld() > allBytesMax) {
      flush();
    }
  }

  private long reportHeld() {
    long more = bytes - reported;
    reported = bytes;
    return HELD.addAndGet(more);
  }

  /** Changes the implicit key of the thread if there is something to write. */
  public void flush() {
    writes.sort(null); // Stable: the last write to a key comes last.
    int last = writes.size() - 1;
    Write written = null;
    for (int i = 0; i <= last; i++) {
      Write write = writes.get(i);
      if (i < last && write.compareTo(writes.get(i + 1)) == 0) {
        continue;
      }
      if (written == null || write.number != written.number) {
        ImplicitGroupingKeyTracker.setImplicitKey(write.number);
      }
      written = write;
      if (write.value == null) {
        state.removeKey(write.key);
      } else {
        state.updateValue(write.key, write.value);
      }
    }
    close();
  }

  /** Discards what was not written. */
  @Override
  public void close() {
    writes.clear();
    bytes = 0;
    reportHeld();
  }
}
