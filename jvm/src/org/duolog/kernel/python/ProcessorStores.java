package org.duolog.kernel.python;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.duolog.kernel.record.StoredRow;
import org.duolog.kernel.store.BucketStore;

/**
 * The stores of a processor, as its worker accesses them during a call: rows by bucket and key, all
 * of which are plain bytes to the kernel. Changes of a call that was lost are rolled back.
 *
 * <p>Threads: one at a time.
 */
public final class ProcessorStores {
  public static final int COLUMNS = 1;
  private static final byte GET = 1;
  private static final byte SCAN = 2;
  private static final byte WRITE = 3;

  private final Map<String, BucketStore> stores;
  private final UnsafeRowWriter writer = new UnsafeRowWriter(1);
  private final Deque<Before> before = new ArrayDeque<>();

  /** A row before the call; null if there was none. */
  private record Before(BucketStore store, long bucket, UnsafeRow key, byte[] row) {}

  public ProcessorStores(Map<String, BucketStore> stores) {
    this.stores = stores;
  }

  /** Answers a question of a worker. */
  byte[] answer(byte[] question) {
    ByteBuffer in = ByteBuffer.wrap(question);
    byte kind = in.get();
    if (kind == WRITE) {
      write(in, true);
      return new byte[0];
    }
    BucketStore store = store(in);
    long bucket = in.getLong();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      if (kind == GET) {
        row(out, store.bytes(bucket, key(ProcessorWire.bytes(in))));
      } else if (kind == SCAN) {
        scan(out, store, bucket);
      } else {
        throw new IllegalStateException("a processor asks for " + kind);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static void scan(DataOutputStream out, BucketStore store, long bucket)
      throws IOException {
    record Found(byte[] key, byte[] row, long ts) {}
    List<Found> found = new ArrayList<>();
    store.scan(
        bucket, (key, row, ts) -> found.add(new Found(key.getBinary(0), row.getBinary(0), ts)));
    out.writeInt(found.size());
    for (Found one : found) {
      ProcessorWire.put(out, one.key);
      out.writeLong(one.ts);
      ProcessorWire.put(out, one.row);
    }
  }

  private static void row(DataOutputStream out, byte[] stored) throws IOException {
    out.writeLong(stored == null ? 0 : StoredRow.ts(stored));
    ProcessorWire.put(out, stored == null ? null : StoredRow.row(stored, COLUMNS).getBinary(0));
  }

  /** Writes the rows that a reply contains. */
  void write(ByteBuffer in) {
    write(in, false);
  }

  private void write(ByteBuffer in, boolean mayBeTakenBack) {
    for (int left = in.getInt(); left > 0; left--) {
      BucketStore store = store(in);
      long bucket = in.getLong();
      UnsafeRow key = key(ProcessorWire.bytes(in));
      long ts = in.getLong();
      byte[] row = ProcessorWire.bytes(in);
      if (mayBeTakenBack) {
        before.push(new Before(store, bucket, key, store.bytes(bucket, key)));
      }
      if (row == null) {
        store.delete(bucket, key);
      } else {
        store.put(bucket, key, row(row), ts);
      }
    }
  }

  /** Ends a call successfully. */
  void done() {
    before.clear();
  }

  /** Rolls back the changes of a lost call. */
  void takeBack() {
    for (Before one; (one = before.poll()) != null; ) {
      if (one.row == null) {
        one.store.delete(one.bucket, one.key);
      } else {
        one.store.putBytes(one.bucket, one.key, one.row);
      }
    }
  }

  private BucketStore store(ByteBuffer in) {
    String name = ProcessorWire.text(in);
    BucketStore store = stores.get(name);
    if (store == null) {
      throw new IllegalStateException("a processor asks for store " + name);
    }
    return store;
  }

  UnsafeRow key(byte[] bytes) {
    return row(bytes).copy();
  }

  private UnsafeRow row(byte[] bytes) {
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, bytes);
    return writer.getRow();
  }
}
