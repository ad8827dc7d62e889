package org.duolog.kernel.store;

import java.lang.reflect.Field;
import java.util.Map;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateKeyValueRowSchemaUtils;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.execution.streaming.state.PrefixKeyScanStateEncoderSpec;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.execution.streaming.state.StateStoreIterator;
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import scala.Function1;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's {@code MapState} for byte arrays, on the same rows of the same store, without its
 * encoders.
 *
 * <p>Spark creates a map for each store, task and epoch, and each time plans and compiles the
 * conversion of keys and values: a third of the work of the tasks in a small micro-batch. Byte
 * arrays need no conversion.
 *
 * <pre>
 *   key    row(row(group: BIGINT), row(key: BINARY))  a prefix scan is over row(row(group: BIGINT))
 *   value  row(value: BINARY)
 * </pre>
 *
 * <p>A scan that stops early stays open until the task ends.
 *
 * <p>Threads: one at a time. Source: Spark's {@code MapStateImpl},
 * {@code CompositeKeyStateEncoder}.
 */
public final class BytesMap implements MapState<byte[], byte[]> {
  private static final long serialVersionUID = 1L;

  private static final StructType GROUP = Encoders.LONG().schema();
  private static final StructType BYTES = Encoders.BINARY().schema();
  private static final StructType KEY =
      TransformWithStateKeyValueRowSchemaUtils.getCompositeKeySchema(GROUP, BYTES);
  private static final PrefixKeyScanStateEncoderSpec BY_GROUP =
      new PrefixKeyScanStateEncoderSpec(KEY, 1);
  private static final Field STORE = field(StatefulProcessorHandleImpl.class, "store");
  private static final Field METRICS = field(StatefulProcessorHandleImpl.class, "metrics");
  private static final Field PROVIDER =
      field(RocksDBStateStoreProvider.RocksDBStateStore.class, "$outer");
  private static final Field ENCODERS =
      field(RocksDBStateStoreProvider.class, "keyValueEncoderMap");

  private final StateStore store;
  private final String name;
  private final SQLMetric updated;
  private final SQLMetric removed;
  private final Rows rows = new Rows();
  private boolean changed;

  private BytesMap(StateStore store, String name, Map<String, SQLMetric> metrics) {
    this.store = store;
    this.name = name;
    updated = metrics.get("numUpdatedStateRows");
    removed = metrics.get("numRemovedStateRows");
    if (!isRegistered(store, name)) {
      store.createColFamilyIfAbsent(name, KEY, BYTES, BY_GROUP, false, false);
    }
  }

  /**
   * Returns true if an earlier epoch has registered the column family with the store, which
   * outlives an epoch in this JVM.
   *
   * <p>Otherwise Spark would create encoders again, only to keep the existing ones.
   */
  private static boolean isRegistered(StateStore store, String name) {
    return store instanceof RocksDBStateStoreProvider.RocksDBStateStore
        && ((Map<?, ?>) value(ENCODERS, value(PROVIDER, store))).containsKey(name)
        && store.allColumnFamilyNames().contains(name);
  }

  /**
   * Returns the map of a store; Spark's own map if the handle has no state, as for one that only
   * collects schemas.
   */
  public static MapState<byte[], byte[]> of(StatefulProcessorHandle handle, String name) {
    if (handle instanceof StatefulProcessorHandleImpl) {
      @SuppressWarnings("unchecked")
      var metrics = (scala.collection.Map<String, SQLMetric>) value(METRICS, handle);
      return new BytesMap(
          (StateStore) value(STORE, handle), name, CollectionConverters.asJava(metrics));
    }
    return handle.getMapState(name, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
  }

  @Override
  public boolean exists() {
    StateStoreIterator<UnsafeRowPair> found = scan();
    try {
      return found.hasNext();
    } finally {
      found.close();
    }
  }

  @Override
  public byte[] getValue(byte[] key) {
    UnsafeRow found = store.get(rows.key(group(), key), name);
    return found == null ? null : found.getBinary(0);
  }

  @Override
  public boolean containsKey(byte[] key) {
    return store.get(rows.key(group(), key), name) != null;
  }

  @Override
  public void updateValue(byte[] key, byte[] value) {
    changed = true;
    store.put(rows.key(group(), key), rows.value(value), name);
    if (updated != null) {
      updated.add(1);
    }
  }

  @Override
  public void removeKey(byte[] key) {
    changed = true;
    store.remove(rows.key(group(), key), name);
    if (removed != null) {
      removed.add(1);
    }
  }

  /** Entries may be removed during the iteration, as with Spark's map. */
  @Override
  public void clear() {
    keys().foreach(
        key -> {
          removeKey(key);
          return null;
        });
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> iterator() {
    return each(pair -> new Tuple2<>(Rows.userKey(pair.key()), pair.value().getBinary(0)));
  }

  @Override
  public Iterator<byte[]> keys() {
    return each(pair -> Rows.userKey(pair.key()));
  }

  @Override
  public Iterator<byte[]> values() {
    return each(pair -> pair.value().getBinary(0));
  }

  /** Returns true if something was written or removed since the last call. */
  boolean takeChanged() {
    boolean was = changed;
    changed = false;
    return was;
  }

  /**
   * Visits the sizes of entries after a cursor (null: from the first entry), until a time by
   * {@link System#nanoTime}.
   *
   * @return the cursor to continue from; null after the last entry, or if the store is not
   *     RocksDB's
   */
  byte[] sizes(byte[] cursor, long untilNs, RawSizes.Visitor visitor) {
    return store instanceof RocksDBStateStoreProvider.RocksDBStateStore
        ? RawSizes.visit(
            (RocksDBStateStoreProvider) value(PROVIDER, store),
            name,
            rows.group(0),
            cursor,
            untilNs,
            visitor)
        : null;
  }

  private <T> Iterator<T> each(Function1<UnsafeRowPair, T> found) {
    StateStoreIterator<UnsafeRowPair> pairs = scan();
    return new AbstractIterator<>() {
      @Override
      public boolean hasNext() {
        return pairs.hasNext();
      }

      @Override
      public T next() {
        return found.apply(pairs.next());
      }
    };
  }

  private StateStoreIterator<UnsafeRowPair> scan() {
    return store.prefixScan(rows.group(group()), name);
  }

  private static long group() {
    Object key = ImplicitGroupingKeyTracker.implicitKey().get();
    if (key == null) {
      throw new IllegalStateException("state is used outside of a task");
    }
    return (Long) key;
  }

  /**
   * Returns the field whose name ends like this: Scala prefixes some names with that of the class.
   */
  static Field field(Class<?> of, String name) {
    for (Field field : of.getDeclaredFields()) {
      if (field.getName().equals(name) || field.getName().endsWith("$$" + name)) {
        field.setAccessible(true);
        return field;
      }
    }
    throw new IllegalStateException(
        "unsupported version of Spark: its " + of.getName() + " has no " + name);
  }

  static Object value(Field field, Object of) {
    try {
      return field.get(of);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException("unsupported version of Spark: " + field + " is hidden", e);
    }
  }

  /**
   * Encodes keys and values as Spark's rows; each is valid until the next one of its kind.
   *
   * <p>A row is a word of null bits, a word for each field, and the data that does not fit into a
   * word, padded to whole words. The word of such a field has its offset and length. Source:
   * Spark's {@code UnsafeRow}.
   */
  static final class Rows {
    private static final int BASE = Platform.BYTE_ARRAY_OFFSET;
    private static final int WORD = 8;
    /** Null bits and one field. */
    private static final int ONE = 2 * WORD;
    /** Null bits and two fields. */
    private static final int TWO = 3 * WORD;
    private static final int KEY_HEAD = TWO + ONE + ONE;

    private final UnsafeRow key = new UnsafeRow(2);
    private final UnsafeRow value = new UnsafeRow(1);
    private final UnsafeRow group = new UnsafeRow(1);
    private final byte[] groupBytes = new byte[ONE + ONE];
    private byte[] keyBytes = new byte[KEY_HEAD + 64];
    private byte[] valueBytes = new byte[ONE + 256];

    UnsafeRow key(long number, byte[] of) {
      int size = KEY_HEAD + padded(of.length);
      if (keyBytes.length < size) {
        keyBytes = new byte[2 * size];
      }
      word(keyBytes, 0, 0);
      word(keyBytes, 1, place(TWO, ONE));
      word(keyBytes, 2, place(TWO + ONE, size(of)));
      word(keyBytes, 3, 0);
      word(keyBytes, 4, number);
      word(keyBytes, 5, 0);
      word(keyBytes, 6, place(ONE, of.length));
      copy(of, keyBytes, KEY_HEAD);
      key.pointTo(keyBytes, BASE, size);
      return key;
    }

    UnsafeRow value(byte[] of) {
      int size = size(of);
      if (valueBytes.length < size) {
        valueBytes = new byte[2 * size];
      }
      word(valueBytes, 0, 0);
      word(valueBytes, 1, place(ONE, of.length));
      copy(of, valueBytes, ONE);
      value.pointTo(valueBytes, BASE, size);
      return value;
    }

    UnsafeRow group(long number) {
      word(groupBytes, 0, 0);
      word(groupBytes, 1, place(ONE, ONE));
      word(groupBytes, 2, 0);
      word(groupBytes, 3, number);
      group.pointTo(groupBytes, BASE, groupBytes.length);
      return group;
    }

    static byte[] userKey(UnsafeRow key) {
      return key.getStruct(1, 1).getBinary(0);
    }

    private static long place(int from, int bytes) {
      return (long) from << 32 | bytes;
    }

    /** Returns the length of row(of: BINARY), which precedes it in a key. */
    static int size(byte[] of) {
      return ONE + padded(of.length);
    }

    private static int padded(int bytes) {
      return (bytes + WORD - 1) / WORD * WORD;
    }

    private static void word(byte[] row, int number, long value) {
      Platform.putLong(row, BASE + number * WORD, value);
    }

    private static void copy(byte[] from, byte[] to, int at) {
      int end = at + padded(from.length);
      if (end > at) {
        Platform.putLong(to, BASE + end - WORD, 0);
      }
      System.arraycopy(from, 0, to, at, from.length);
    }
  }
}
