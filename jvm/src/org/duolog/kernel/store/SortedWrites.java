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
 * Many writes to a store in whatever order, which reach its state sorted, part by part, and of a key in a part the last one
 * alone.
 *
 * <p>RocksDB keeps what is written in a skip list, where it looks for a place from that of the write before: in random
 * order two thirds of a restore went into misses of the processor's cache. The order is that of the keys' bytes in RocksDB;
 * another one would cost time and nothing else.
 *
 * <p>Whoever reads the state calls {@link #flush} first. All of a JVM hold a share of its heap at most, and little more:
 * where tasks are many, parts are small. Threads: one at a time. Source: RocksDB's {@code InlineSkipList}, {@link
 * BytesMap.Rows} for the bytes.
 */
public final class SortedWrites implements AutoCloseable {
  private static final int SHARE_OF_HEAP = 16;
  private static final long BYTES_MAX = 16 << 20;

  /** What each may hold, however many there are; and in what steps all hear of it. */
  private static final long BYTES_MIN = 64 << 10;

  private static final AtomicLong HELD = new AtomicLong();

  /** An entry's objects beside its bytes. */
  private static final int OVERHEAD = 96;

  private static final VarHandle HEAD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final MapState<byte[], byte[]> state;
  private final long bytesMax;
  private final long allBytesMax;
  private final List<Write> writes = new ArrayList<>();
  private long bytes;

  /** What of these is part of {@link #HELD}. */
  private long told;

  public SortedWrites(MapState<byte[], byte[]> state) {
    this(state, BYTES_MAX, Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP);
  }

  /**
   * @param bytesMax of this one
   * @param allBytesMax of all of the JVM
   */
  SortedWrites(MapState<byte[], byte[]> state, long bytesMax, long allBytesMax) {
    this.state = state;
    this.bytesMax = bytesMax;
    this.allBytesMax = allBytesMax;
  }

  /** What all of this JVM hold, but for the last of each. */
  static long held() {
    return HELD.get();
  }

  /**
   * A null value removes.
   *
   * @param number what Spark keeps it under; least significant byte first, as are the lengths
   * @param head the first bytes of the key, so that keys are seldom looked at
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
    if (bytes >= bytesMax || bytes - told >= BYTES_MIN && tell() > allBytesMax) {
      flush();
    }
  }

  private long tell() {
    long more = bytes - told;
    told = bytes;
    return HELD.addAndGet(more);
  }

  /** Leaves another implicit key behind where there was something to write. */
  public void flush() {
    writes.sort(null); // Stable: of a key, the last one that was put comes last.
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

  /** Lets go of what was not written. */
  @Override
  public void close() {
    writes.clear();
    bytes = 0;
    tell();
  }
}
