package org.duolog.kernel;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.unsafe.Platform;

/**
 * A key-value store of a sub-topology: row and timestamp by record key.
 *
 * <pre>  key bytes of the key's UnsafeRow  ->  bytes of the row's UnsafeRow ++ timestamp (8 bytes, BE)
 * </pre>
 *
 * <p>In a micro-batch writes stay in the cache until {@link #flush}; in real time they go through,
 * because the processor is closed only after the state was committed, and the cache serves reads for
 * one epoch. The cache is bounded: beyond the bound everything is written and forgotten, except
 * entries whose last update is still to be forwarded.
 *
 * <p>Threads: one at a time. Source: Kafka Streams TimestampedKeyValueStore and its record cache.
 */
final class Store implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long CACHE_BYTES_MAX = 64L << 20;
  private static final int ENTRY_OVERHEAD_BYTES = 160;
  private static final int TIMESTAMP_BYTES = Long.BYTES;

  private final String name;
  private final int rowColumns;
  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient Map<Long, Cache> caches;
  private transient Cache cache;

  Store(String name, int rowColumns) {
    this.name = name;
    this.rowColumns = rowColumns;
  }

  String name() {
    return name;
  }

  void attach(MapState<byte[], byte[]> state) {
    this.state = state;
  }

  void open(boolean realTime) {
    writeThrough = realTime;
    caches = new HashMap<>();
  }

  /** What follows belongs to this task; its cache lives until flush, or the end of the epoch. */
  void select(long grouping) {
    cache = caches.computeIfAbsent(grouping, unused -> new Cache());
  }

  /** The entry of a key; its row is null where the store has none. */
  Entry lookup(UnsafeRow key) {
    Entry entry = cache.entries.get(key);
    if (entry == null) {
      if (cache.bytes > CACHE_BYTES_MAX) {
        evict();
      }
      entry = read(key.copy());
      cache.entries.put(entry.key, entry);
      cache.bytes += entry.bytes();
    }
    return entry;
  }

  /** Puts a row that the store may keep. */
  void put(Entry entry, UnsafeRow row, long ts) {
    entry.row = row;
    entry.ts = ts;
    written(entry);
  }

  /** Puts a copy of a row that the caller will overwrite. */
  void putCopy(Entry entry, UnsafeRow row, long ts) {
    if (entry.row == null) {
      entry.row = row.copy();
    } else {
      entry.row.copyFrom(row);
    }
    entry.ts = ts;
    written(entry);
  }

  void delete(Entry entry) {
    entry.row = null;
    written(entry);
  }

  /** Writes what the micro-batch changed, in the order of first changes, and forgets the cache. */
  void flush() {
    writeDirty();
    cache.entries.clear();
    cache.bytes = 0;
  }

  private void written(Entry entry) {
    if (writeThrough) {
      write(entry);
    } else if (!entry.dirty) {
      entry.dirty = true;
      cache.dirty.add(entry);
    }
  }

  private void writeDirty() {
    for (Entry entry : cache.dirty) {
      entry.dirty = false;
      write(entry);
    }
    cache.dirty.clear();
  }

  private void evict() {
    writeDirty();
    cache.bytes = 0;
    for (Iterator<Entry> entries = cache.entries.values().iterator(); entries.hasNext(); ) {
      Entry entry = entries.next();
      if (entry.pending) {
        cache.bytes += entry.bytes();
      } else {
        entries.remove();
      }
    }
  }

  private Entry read(UnsafeRow key) {
    Entry entry = new Entry(key);
    byte[] bytes = state.getValue(key.getBytes());
    if (bytes != null) {
      int size = bytes.length - TIMESTAMP_BYTES;
      entry.row = new UnsafeRow(rowColumns);
      entry.row.pointTo(bytes, size);
      entry.ts = Long.reverseBytes(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + size));
    }
    return entry;
  }

  private void write(Entry entry) {
    byte[] key = entry.key.getBytes();
    if (entry.row == null) {
      state.removeKey(key);
      return;
    }
    int size = entry.row.getSizeInBytes();
    byte[] bytes = new byte[size + TIMESTAMP_BYTES];
    entry.row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET);
    Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + size, Long.reverseBytes(entry.ts));
    state.updateValue(key, bytes);
  }

  @Override
  public String toString() {
    return "store " + name;
  }

  /** A key of the store, as the task sees it now. */
  static final class Entry {
    final UnsafeRow key;
    UnsafeRow row;
    long ts;

    /** An update waits to be forwarded, with the result before the first one. */
    boolean pending;

    UnsafeRow pendingOld;
    long pendingOldTs;
    byte[] pendingHeaders;
    private boolean dirty;

    private Entry(UnsafeRow key) {
      this.key = key;
    }

    long bytes() {
      return (long) ENTRY_OVERHEAD_BYTES
          + key.getSizeInBytes()
          + (row == null ? 0 : row.getSizeInBytes());
    }
  }

  private static final class Cache {
    final Map<UnsafeRow, Entry> entries = new HashMap<>();
    final List<Entry> dirty = new ArrayList<>();
    long bytes;
  }
}
