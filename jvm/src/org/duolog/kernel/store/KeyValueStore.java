package org.duolog.kernel.store;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.record.StoredRow;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/**
 * Row and timestamp by record key, with a record cache.
 *
 * <pre>  key bytes of an UnsafeRow  ->  {@link StoredRow}
 * </pre>
 *
 * <p>In a micro-batch, writes stay in memory until {@link #flush}. In real time they go to the
 * state at once, because the processor is closed only after the state has been committed, and
 * memory only serves reads within an epoch. The memory is bounded: beyond the bound everything is
 * written and evicted, except entries whose last update has not been emitted; these are bounded by
 * the size of the record cache.
 *
 * <p>{@link #update} calls the listener. With a record cache (in micro-batches, if its size is
 * above 0) the listener receives only the last update of each key, at the end of the task's
 * micro-batch, in the order of last updates, with the row before the first update as old row.
 * Beyond the cache's size it receives the oldest updates early. Look-ups see the last update of a
 * key at once.
 *
 * <p>A derived table has no store of its own. It is computed on lookup and again when its rows are
 * forwarded; failures are reported only there.
 *
 * <p>Threads: one at a time. Source: Kafka Streams TimestampedKeyValueStore, CachingKeyValueStore.
 */
public final class KeyValueStore implements Store {
  private static final long serialVersionUID = 1L;
  private static final long ROWS_BYTES_MAX = 64L << 20;
  private static final int ENTRY_OVERHEAD_BYTES = 160;
  private static final int HELD_OVERHEAD_BYTES = 48;

  private final String name;
  private final int rowColumns;
  private final boolean emitsAtOnce;
  private final StateRows rows;
  private transient boolean writeThrough;
  private transient long cacheBytesMax;
  private transient NodeContext scope;
  private transient Map<Long, Task> tasks;
  private transient Task task;
  private transient Listener listener;

  public KeyValueStore(String name, int rowColumns, boolean toldAtOnce) {
    this(name, rowColumns, toldAtOnce, StateRows.inOneMap());
  }

  /**
   * @param toldAtOnce true if the listener receives each update, with or without record cache
   * @param rows holds the rows in Spark's state
   */
  public KeyValueStore(String name, int rowColumns, boolean toldAtOnce, StateRows rows) {
    this.name = name;
    this.rowColumns = rowColumns;
    this.emitsAtOnce = toldAtOnce;
    this.rows = rows;
  }

  /** Receives updates. */
  public interface Listener {
    /**
     * Receives the new row of a key; {@code old} is the row that was emitted last, null if there
     * was none.
     */
    void updated(Entry entry, UnsafeRow old, long oldTs, byte[] headers);
  }

  @Override
  public String name() {
    return name;
  }

  /** The pages of its rows; null if they have none. */
  public PagedRows pages() {
    return rows instanceof PagedRows paged ? paged : null;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    rows.attach(state);
  }

  @Override
  public void open(NodeContext scope) {
    this.scope = scope;
    writeThrough = scope.realTime;
    cacheBytesMax = scope.realTime || emitsAtOnce ? 0 : scope.cacheBytesMax;
    tasks = new HashMap<>();
    rows.open(writeThrough, cacheBytesMax > 0, this::writeDirty);
  }

  /** Sets the listener; to be called after each open. */
  public void setListener(Listener listener) {
    this.listener = listener;
  }

  /** Entries stay in memory until flush, or the end of the epoch. */
  @Override
  public void select(long grouping) {
    task = tasks.computeIfAbsent(grouping, unused -> new Task());
    rows.select(grouping);
  }

  /** Returns the entry of a key; its row is null if the store has none. */
  public Entry lookup(UnsafeRow key) {
    Entry entry = task.entries.get(key);
    if (entry == null) {
      // Counts only entries that may be evicted: the others would be traversed again for each key.
      if (task.bytes - task.pendingBytes > ROWS_BYTES_MAX) {
        evict();
      }
      entry = read(key.copy());
      task.entries.put(entry.key, entry);
      task.count(entry);
    }
    if (entry.row != null && entry.pending == null && rows.isExpired(entry.key)) {
      entry.row = null;
      task.count(entry);
    }
    return entry.row != null && rows.isExpiredAt(entry.ts) ? withoutRow(entry) : entry;
  }

  /** Advances time to a record that has reached the node which writes the store. */
  public void advanceTime(long ts) {
    rows.advanceTime(ts);
  }

  /** Replaces an entry whose row has expired; pending updates and writes are kept. */
  private Entry withoutRow(Entry gone) {
    Entry entry = new Entry(gone.key);
    task.entries.put(entry.key, entry);
    task.count(entry);
    return entry;
  }

  /** Stores a row, which the caller must not modify afterwards, without calling the listener. */
  public void put(Entry entry, UnsafeRow row, long ts) {
    entry.row = row;
    entry.ts = ts;
    written(entry);
  }

  /** Deletes a row without calling the listener. */
  public void delete(Entry entry) {
    entry.row = null;
    written(entry);
  }

  /**
   * Stores a copy of a row, or deletes it if {@code row} is null, and calls the listener now or
   * later.
   */
  public void update(Entry entry, UnsafeRow row, long ts, byte[] headers) {
    if (cacheBytesMax == 0) {
      UnsafeRow old = entry.row;
      long oldTs = entry.ts;
      put(entry, copy(row), ts);
      listener.updated(entry, old, oldTs, headers);
    } else if (entry.pending == null) {
      task.addPending(entry);
      hold(entry, copy(row), ts, headers);
    } else {
      hold(entry, overwritten(entry.row, row), ts, headers);
    }
  }

  /** The previous row was never emitted, so its memory is reused. */
  private static UnsafeRow overwritten(UnsafeRow before, UnsafeRow row) {
    if (before == null || row == null) {
      return copy(row);
    }
    before.copyFrom(row);
    return before;
  }

  private static UnsafeRow copy(UnsafeRow row) {
    return row == null ? null : row.copy();
  }

  private void hold(Entry entry, UnsafeRow row, long ts, byte[] headers) {
    entry.pending.setBy(headers, scope.origin);
    put(entry, row, ts);
    task.pending.toEnd(entry);
    if (task.heldBytes > cacheBytesMax) {
      emitUpdates(cacheBytesMax);
    }
  }

  @Override
  public void forwardUpdates() {
    emitUpdates(0);
  }

  /** Writes in the order of first changes, and drops what was read. */
  @Override
  public void flush() {
    rows.settle();
    writeDirty();
    rows.flush();
    task.entries.clear();
    task.bytes = 0;
  }

  private void emitUpdates(long leftBytesMax) {
    byte[] current = scope.origin;
    for (Entry entry;
        task.heldBytes > leftBytesMax && (entry = task.pending.takeFirst()) != null; ) {
      PendingUpdate untold = task.removePending(entry);
      boolean wasNeverTold = entry.row == null && untold.old == null;
      if (!wasNeverTold) {
        scope.origin = untold.origin;
        listener.updated(entry, untold.old, untold.oldTs, untold.headers);
      }
    }
    scope.origin = current;
  }

  private void written(Entry entry) {
    if (entry.forgotten) { // Later look-ups have evicted it.
      entry.forgotten = false;
      entry.counted = 0;
      task.entries.put(entry.key, entry);
    }
    task.count(entry);
    if (writeThrough) {
      write(entry);
    } else if (!entry.dirty) {
      entry.dirty = true;
      task.dirty.add(entry);
    }
  }

  private void writeDirty() {
    for (Entry entry : task.dirty) {
      entry.dirty = false;
      write(entry);
    }
    task.dirty.clear();
  }

  private void evict() {
    writeDirty();
    task.entries.values().removeIf(entry -> entry.forgotten = entry.pending == null);
    task.bytes = task.pendingBytes;
  }

  private Entry read(UnsafeRow key) {
    Entry entry = new Entry(key);
    byte[] bytes = rows.get(key);
    if (bytes != null) {
      entry.row = StoredRow.row(bytes, rowColumns);
      entry.ts = StoredRow.ts(bytes);
    }
    return entry;
  }

  private void write(Entry entry) {
    if (entry.row == null) {
      rows.remove(entry.key);
    } else {
      rows.put(entry.key, StoredRow.encode(entry.row, entry.ts));
    }
  }

  @Override
  public String toString() {
    return "store " + name;
  }

  /** A key of the store, as the task sees it. */
  public static final class Entry {
    public final UnsafeRow key;
    public UnsafeRow row;
    public long ts;
    private PendingUpdate pending;
    private Entry previous;
    private Entry next;
    private boolean dirty;
    private boolean forgotten;
    private long counted;
    private long held;

    private Entry(UnsafeRow key) {
      this.key = key;
    }

    private long bytes() {
      return (long) ENTRY_OVERHEAD_BYTES
          + key.getSizeInBytes()
          + sizeOf(row)
          + (pending == null ? 0 : pending.bytes());
    }

    /**
     * Its size in the record cache: about what Kafka Streams counts, so that it holds as many keys.
     */
    private long heldBytes() {
      return (long) HELD_OVERHEAD_BYTES
          + key.getSizeInBytes()
          + sizeOf(row)
          + PendingUpdate.lengthOf(pending.headers);
    }

    private static int sizeOf(UnsafeRow row) {
      return row == null ? 0 : row.getSizeInBytes();
    }
  }

  /** A pending update of a key: the row that the listener knows, and data of the last record. */
  private static final class PendingUpdate {
    final UnsafeRow old;
    final long oldTs;
    byte[] headers;
    byte[] origin;

    PendingUpdate(UnsafeRow old, long oldTs) {
      this.old = old;
      this.oldTs = oldTs;
    }

    void setBy(byte[] headers, byte[] origin) {
      this.headers = headers;
      this.origin = origin;
    }

    long bytes() {
      return (long) Entry.sizeOf(old) + lengthOf(headers) + lengthOf(origin);
    }

    private static int lengthOf(byte[] part) {
      return part == null ? 0 : part.length;
    }
  }

  /** An intrusive list of entries: a set would need a look-up for each update. */
  private static final class ByLastUpdate {
    private final Entry ends = new Entry(null);

    ByLastUpdate() {
      ends.previous = ends;
      ends.next = ends;
    }

    /** Removes the entry with the oldest last update; null if there is none. */
    Entry takeFirst() {
      Entry first = ends.next;
      if (first == ends) {
        return null;
      }
      unlink(first);
      return first;
    }

    void toEnd(Entry entry) {
      if (entry.next != null) {
        unlink(entry);
      }
      entry.previous = ends.previous;
      entry.next = ends;
      ends.previous.next = entry;
      ends.previous = entry;
    }

    private static void unlink(Entry entry) {
      entry.previous.next = entry.next;
      entry.next.previous = entry.previous;
      entry.next = null;
    }
  }

  /**
   * The memory of a task; {@code pendingBytes} is the part of {@code bytes} with pending updates,
   * {@code heldBytes} their size in the record cache.
   */
  private static final class Task {
    final Map<UnsafeRow, Entry> entries = new HashMap<>();
    final List<Entry> dirty = new ArrayList<>();
    final ByLastUpdate pending = new ByLastUpdate();
    long pendingBytes;
    long heldBytes;
    long bytes;

    /** Counts an entry with its current size. */
    void count(Entry entry) {
      long grown = entry.bytes() - entry.counted;
      entry.counted += grown;
      bytes += grown;
      if (entry.pending != null) {
        pendingBytes += grown;
        countHeld(entry);
      }
    }

    private void countHeld(Entry entry) {
      long grown = entry.heldBytes() - entry.held;
      entry.held += grown;
      heldBytes += grown;
    }

    /** Marks an entry as having a pending update. */
    void addPending(Entry entry) {
      entry.pending = new PendingUpdate(entry.row, entry.ts);
      pendingBytes += entry.counted;
      countHeld(entry);
    }

    /** Removes and returns the pending update of an entry. */
    PendingUpdate removePending(Entry entry) {
      PendingUpdate untold = entry.pending;
      pendingBytes -= entry.counted;
      heldBytes -= entry.held;
      entry.held = 0;
      entry.pending = null;
      count(entry);
      return untold;
    }
  }
}
