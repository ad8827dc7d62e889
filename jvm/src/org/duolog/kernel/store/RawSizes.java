package org.duolog.kernel.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.state.RocksDB;
import org.apache.spark.sql.execution.streaming.state.RocksDBKeyStateEncoder;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksIterator;
import scala.Product;

/**
 * Reads the sizes of a store's entries from RocksDB's bytes, starting after any key.
 *
 * <pre>
 *   key   column family: 2 bytes | Spark's own bytes | row(row(group: BIGINT)) | the rest
 *                                                                    └ its last 8 bytes
 * </pre>
 *
 * <p>Spark's own scan starts at the first entry, and decodes all rows: ten times the work. The
 * caller must own the store for writing. Threads: one at a time. Source: Spark's {@code RocksDB},
 * {@code PrefixKeyScanStateEncoder}.
 */
final class RawSizes {
  private static final int LOOK_AT_CLOCK_EVERY = 64;
  private static final int FAMILY_BYTES = 2;
  private static final int KEY_BYTES_MAX = 256;
  private static final Field DB = BytesMap.field(RocksDB.class, "db");
  private static final Field ENCODERS =
      BytesMap.field(RocksDBStateStoreProvider.class, "keyValueEncoderMap");
  private static final Method WITH_FAMILY = withFamily();
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private RawSizes() {}

  /**
   * Receives an entry: the number under which Spark keeps it, and the sizes of its key and value.
   */
  interface Visitor {
    void visit(long number, long bytes);
  }

  /**
   * Visits entries after a cursor (null: from the first entry), until a time by
   * {@link System#nanoTime}.
   *
   * @param anyGroup a prefix as Spark encodes it, for any group
   * @return the key that was visited last; null after the last entry
   */
  static byte[] visit(
      RocksDBStateStoreProvider provider,
      String store,
      UnsafeRow anyGroup,
      byte[] cursor,
      long untilNs,
      Visitor visitor) {
    RocksDB rocksDb = provider.rocksDB();
    byte[] family = withFamily(rocksDb, store);
    var encoders = (Map<?, ?>) BytesMap.value(ENCODERS, provider);
    var encoder = (RocksDBKeyStateEncoder) ((Product) encoders.get(store)).productElement(0);
    // The number is at the end of a prefix.
    int numberAt = FAMILY_BYTES + encoder.encodePrefixKey(anyGroup).length - Long.BYTES;
    byte[] head = new byte[KEY_BYTES_MAX];
    byte[] nothing = new byte[1];
    try (ReadOptions options = new ReadOptions().setFillCache(false);
        RocksIterator entries =
            ((org.rocksdb.RocksDB) BytesMap.value(DB, rocksDb)).newIterator(options)) {
      entries.seek(cursor == null ? family : cursor);
      if (cursor != null && entries.isValid() && Arrays.equals(entries.key(), cursor)) {
        entries.next();
      }
      for (int seen = 1; entries.isValid(); seen++, entries.next()) {
        int keyBytes = entries.key(head);
        if (!Arrays.equals(head, 0, FAMILY_BYTES, family, 0, FAMILY_BYTES)) {
          return null;
        }
        visitor.visit(
            (long) LONG.get(head, numberAt),
            (long) keyBytes - FAMILY_BYTES + entries.value(nothing));
        if (seen % LOOK_AT_CLOCK_EVERY == 0 && System.nanoTime() >= untilNs) {
          return entries.key();
        }
      }
      return null;
    }
  }

  private static Method withFamily() {
    try {
      Method found =
          RocksDB.class.getDeclaredMethod("encodeStateRowWithPrefix", byte[].class, String.class);
      found.setAccessible(true);
      return found;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(
          "unsupported version of Spark: its RocksDB has no column families", e);
    }
  }

  private static byte[] withFamily(RocksDB rocksDb, String store) {
    try {
      return (byte[]) WITH_FAMILY.invoke(rocksDb, new byte[0], store);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("unsupported version of Spark: " + WITH_FAMILY, e);
    }
  }
}
