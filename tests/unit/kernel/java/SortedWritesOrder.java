package org.duolog.kernel.store;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Writes in random order, with duplicate keys; prints how many keys do not have the last value, how many writes were
 * out of order for RocksDB, how many were saved, the most bytes that many instances held together, and what is held at
 * the end.
 */
public final class SortedWritesOrder {
  private static final int ROUNDS = 300;
  private static final int WRITES = 200;
  private static final int ROW_OF_ONE = 16;
  private static final int MANY = 10;
  private static final long ALL_BYTES_MAX = 5_000_000;
  private static final long BYTES_MAX = 20_000;
  private static final long[] GROUPS = {3, 260, -1, -70_000, Long.MIN_VALUE};

  private SortedWritesOrder() {}

  public static void main(String[] args) {
    Random random = new Random(11);
    int wrong = 0;
    int unordered = 0;
    int spared = 0;
    for (int round = 0; round < ROUNDS; round++) {
      Rows rows = new Rows();
      Map<String, byte[]> expected = new HashMap<>();
      SortedWrites writes = new SortedWrites(rows, round % 2 == 0 ? Long.MAX_VALUE : BYTES_MAX, Long.MAX_VALUE);
      for (int i = 0; i < WRITES; i++) {
        long group = GROUPS[random.nextInt(GROUPS.length)];
        byte[] key = new byte[random.nextInt(4) == 0 ? random.nextInt(600) : random.nextInt(10)];
        for (int at = 0; at < key.length; at++) {
          key[at] = (byte) (random.nextInt(3) - 1);
        }
        byte[] value = random.nextInt(4) == 0 ? null : new byte[] {(byte) i, (byte) round};
        writes.put(group, key, value);
        expected.put(Rows.name(group, key), value);
      }
      writes.flush();
      for (Map.Entry<String, byte[]> one : expected.entrySet()) {
        wrong += Arrays.equals(one.getValue(), rows.values.get(one.getKey())) ? 0 : 1;
      }
      wrong += rows.values.keySet().equals(expected.keySet()) ? 0 : 1;
      // A full batch starts a new order.
      unordered += round % 2 == 0 ? rows.descents : 0;
      spared += WRITES - rows.writes;
    }
    System.out.println(wrong + " " + unordered + " " + spared + " " + most() + " " + SortedWrites.held());
  }

  /** Returns the most that many instances hold, if each may hold any amount, and all together {@code ALL_BYTES_MAX}. */
  private static long most() {
    Rows rows = new Rows();
    List<SortedWrites> many = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      many.add(new SortedWrites(rows, Long.MAX_VALUE, ALL_BYTES_MAX));
    }
    long most = 0;
    byte[] value = new byte[1_000];
    for (int i = 0; i < MANY * 3_000; i++) {
      many.get(i % MANY).put(1, BigInteger.valueOf(i).toByteArray(), value);
      most = Math.max(most, SortedWrites.held());
    }
    many.forEach(SortedWrites::close);
    return most;
  }

  /** A state that records its writes and their order. */
  private static final class Rows implements MapState<byte[], byte[]> {
    final Map<String, byte[]> values = new HashMap<>();
    private final BytesMap.Rows made = new BytesMap.Rows();
    private byte[] before;
    private int descents;
    private int writes;

    static String name(long group, byte[] key) {
      return group + " " + Arrays.toString(key);
    }

    private void note(byte[] key, byte[] value) {
      long group = (Long) ImplicitGroupingKeyTracker.getImplicitKeyOption().get();
      UnsafeRow row = made.key(group, key);
      byte[] prefix = row.getStruct(0, 1).getBytes();
      byte[] rest = row.getStruct(1, 1).getBytes();
      // As in RocksDB: row(row(group)), row(row(key)).
      byte[] bytes =
          ByteBuffer.allocate(prefix.length + ROW_OF_ONE + rest.length)
              .order(ByteOrder.LITTLE_ENDIAN)
              .put(prefix)
              .putLong(0)
              .putInt(rest.length)
              .putInt(ROW_OF_ONE)
              .put(rest)
              .array();
      descents += before != null && Arrays.compareUnsigned(before, bytes) >= 0 ? 1 : 0;
      before = bytes;
      writes++;
      values.put(name(group, key), value);
    }

    @Override
    public void updateValue(byte[] key, byte[] value) {
      note(key, value);
    }

    @Override
    public void removeKey(byte[] key) {
      note(key, null);
    }

    @Override
    public boolean exists() {
      throw new UnsupportedOperationException();
    }

    @Override
    public byte[] getValue(byte[] key) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean containsKey(byte[] key) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Iterator<Tuple2<byte[], byte[]>> iterator() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Iterator<byte[]> keys() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Iterator<byte[]> values() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void clear() {
      throw new UnsupportedOperationException();
    }
  }
}
