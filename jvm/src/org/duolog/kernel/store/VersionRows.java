package org.duolog.kernel.store;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.unsafe.Platform;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.StoredRow;

/**
 * The rows of a versioned table: the latest row of each key, and for some time those before it.
 *
 * <pre>
 *   key bytes                        ->  {@link StoredRow} of the latest version
 *   key bytes ++ 0                   ->  since when the key is deleted, if it is; 8 bytes,
 *                                        big-endian
 *   (task, bucket), (key, valid to)  ->  {@link StoredRow} of an earlier version: its row, and
 *                                        since when it was valid; for a deletion one byte instead
 *                                        of the row
 *   task, 0; task, 1                 ->  {@link TaskTime}: buckets are by "valid to"
 * </pre>
 *
 * <p>A version is valid from its timestamp until that of the next one, so the version before
 * another is found with one read, at the start of the latter. A version that ends where it starts
 * is empty; it records a deletion of a row that did not exist, which must expire too. Versions that
 * ended before stream time minus the history expire: buckets are emptied at the end of a
 * micro-batch; in real time, a few rows with each record.
 *
 * <p>Threads: one at a time. Source: Kafka Streams RocksDBVersionedStore, whose segments hold a
 * list of versions for each key.
 */
public final class VersionRows implements StateRows {
  private static final long serialVersionUID = 1L;
  private static final int EXPIRED_PER_RECORD = 64;
  private static final byte[] DELETION = {0};

  private final BucketStore versions;
  private final int rowColumns;
  private final long historyMs;
  private final long bucketMs;
  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient Map<Long, TaskTime> times;
  private transient TaskTime taskTime;
  private transient UnsafeRowWriter keyWriter;
  private transient long foundTs;

  public VersionRows(
      String name, int rowColumns, Grouping grouping, long historyMs, long bucketMs) {
    this.versions = new BucketStore(name, 2, 0, grouping);
    this.rowColumns = rowColumns;
    this.historyMs = historyMs;
    this.bucketMs = bucketMs;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
    versions.attach(state);
  }

  @Override
  public void open(boolean writeThrough, boolean cached, Runnable write) {
    this.writeThrough = writeThrough;
    times = new HashMap<>();
    keyWriter = new UnsafeRowWriter(2);
  }

  @Override
  public void select(long grouping) {
    versions.select(grouping);
    taskTime = times.computeIfAbsent(grouping, unused -> load());
  }

  @Override
  public byte[] get(UnsafeRow key) {
    return state.getValue(key.getBytes());
  }

  @Override
  public void put(UnsafeRow key, byte[] row) {
    state.updateValue(key.getBytes(), row);
  }

  @Override
  public void remove(UnsafeRow key) {
    state.removeKey(key.getBytes());
  }

  @Override
  public boolean isExpired(UnsafeRow key) {
    return false; // The latest row stays, whatever its age.
  }

  @Override
  public void flush() {
    expire(Integer.MAX_VALUE);
    taskTime.write();
  }

  /**
   * Returns true if a version with this timestamp is older than the history. Otherwise stream time
   * advances to it.
   */
  public boolean isExpired(long ts) {
    if (isOlder(ts)) {
      return true;
    }
    taskTime.observe(ts);
    return false;
  }

  /** Returns true if a time is before the history. */
  boolean isOlder(long time) {
    return time < oldest();
  }

  /**
   * Adds a version to the earlier ones, or moves the latest one there so that it can be updated.
   *
   * @param latest the key's entry before the update
   * @param row null is a deletion
   * @return true if the new version is the latest
   */
  public boolean add(KeyValueStore.Entry latest, UnsafeRow row, long ts) {
    byte[] key = latest.key.getBytes();
    Long deletedAt = latest.row == null ? deletedAt(key) : null;
    Long from = latest.row == null ? deletedAt : Long.valueOf(latest.ts);
    boolean isLatest = from == null || ts >= from;
    if (!isLatest) {
      insert(key, from, row, ts);
    } else {
      if (from != null && ts > from) {
        save(key, ts, latest.row, from);
      }
      setDeleted(key, deletedAt, row == null ? ts : null);
    }
    if (writeThrough) {
      expire(EXPIRED_PER_RECORD);
      taskTime.write();
    }
    return isLatest;
  }

  /**
   * Returns the row that a key had at a time, or null. Of rows older than the history, only the
   * latest version is known.
   */
  UnsafeRow at(KeyValueStore.Entry latest, long time) {
    if (latest.row != null && latest.ts <= time) {
      foundTs = latest.ts;
      return latest.row;
    }
    byte[] key = latest.key.getBytes();
    Long to = latest.row == null ? deletedAt(key) : Long.valueOf(latest.ts);
    if (to == null || to <= time || isOlder(time)) {
      return null;
    }
    byte[] version = version(key, to);
    while (version != null && StoredRow.ts(version) > time) {
      to = previous(version, to);
      version = to == null ? null : version(key, to);
    }
    if (version == null || isDeletion(version)) {
      return null;
    }
    foundTs = StoredRow.ts(version);
    return StoredRow.row(version, rowColumns);
  }

  /** Returns the timestamp of the row that {@link #at} has found. */
  long foundTs() {
    return foundTs;
  }

  private long oldest() {
    return taskTime.time() - historyMs;
  }

  /** Adds a version that ends where a later one starts. */
  private void insert(byte[] key, long nextFrom, UnsafeRow row, long ts) {
    Long to = nextFrom;
    byte[] version = version(key, to);
    for (Long before; version != null && StoredRow.ts(version) > ts; ) {
      before = previous(version, to);
      if (before == null) {
        break;
      }
      to = before;
      version = version(key, to);
    }
    if (version != null && StoredRow.ts(version) < ts) {
      put(key, ts, version);
    }
    save(key, to, row, ts);
  }

  /** Returns the end of the version before this one; null if there is none. */
  private static Long previous(byte[] version, long to) {
    long from = StoredRow.ts(version);
    return from == to ? null : from;
  }

  private void setDeleted(byte[] key, Long before, Long now) {
    byte[] place = deletionKey(key);
    if (now != null) {
      state.updateValue(place, ByteBuffer.allocate(Long.BYTES).putLong(now).array());
      if (version(key, now) == null) {
        save(key, now, null, now);
      }
    } else if (before != null) {
      state.removeKey(place);
    }
  }

  private Long deletedAt(byte[] key) {
    byte[] since = state.getValue(deletionKey(key));
    return since == null ? null : ByteBuffer.wrap(since).getLong();
  }

  /** Returns a key that is one byte longer than the key, whose length is a multiple of eight. */
  private static byte[] deletionKey(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  private byte[] version(byte[] key, long to) {
    return versions.bytes(taskTime.bucket(to), versionKey(key, to));
  }

  private void save(byte[] key, long to, UnsafeRow row, long from) {
    put(key, to, row == null ? deletion(from) : StoredRow.encode(row, from));
  }

  private void put(byte[] key, long to, byte[] version) {
    long bucket = taskTime.bucket(to);
    taskTime.add(bucket);
    versions.putBytes(bucket, versionKey(key, to), version);
  }

  private UnsafeRow versionKey(byte[] key, long to) {
    keyWriter.reset();
    keyWriter.zeroOutNullBytes();
    keyWriter.write(0, key);
    keyWriter.write(1, to);
    return keyWriter.getRow();
  }

  private static byte[] deletion(long from) {
    byte[] bytes = Arrays.copyOf(DELETION, DELETION.length + Long.BYTES);
    Platform.putLong(
        bytes, Platform.BYTE_ARRAY_OFFSET + DELETION.length, Long.reverseBytes(from));
    return bytes;
  }

  /** The length of a row is a multiple of eight. */
  private static boolean isDeletion(byte[] version) {
    return version.length == DELETION.length + Long.BYTES;
  }

  private TaskTime load() {
    return new TaskTime(state, bucketMs, TaskTime.Form.EACH);
  }

  /** Deletes up to {@code rowsMax} versions that ended before the history. */
  private void expire(int rowsMax) {
    taskTime.expire(
        rowsMax, bucket -> taskTime.end(bucket) <= oldest(), versions::keys, this::forget);
  }

  private void forget(long bucket, UnsafeRow versionKey) {
    byte[] key = versionKey.getBinary(0);
    long to = versionKey.getLong(1);
    // Distant buckets may share a number.
    if (taskTime.bucket(to) == bucket) {
      versions.delete(bucket, versionKey);
      Long deletedAt = deletedAt(key);
      if (deletedAt != null && deletedAt == to) {
        state.removeKey(deletionKey(key));
      }
    }
  }
}
