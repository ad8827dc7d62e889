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
 * <p>In a micro-batch writes stay in memory until {@link #flush}; in real time they go through,
 * because the processor is closed only after the state was committed, and memory serves reads for
 * one epoch. It is bounded: beyond the bound everything is written and forgotten, except entries
 * whose last update is still to be told, which are bounded by the record cache's size.
 *
 * <p>{@link #update} tells the listener. With a record cache (in micro-batches, where its size is
 * above 0) the listener hears only the last update of each key, when the task's micro-batch ends, in
 * the order of last updates, with the row before the first one as old row; beyond the cache's size
 * it hears the oldest of them early. Whoever looks a key up sees its last update at once, told or not.
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
  private final boolean toldAtOnce;
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
   * @param toldAtOnce whether the listener hears of each update, record cache or not
   * @param rows where the rows are in Spark's state
   */
  public KeyValueStore(String name, int rowColumns, boolean toldAtOnce, StateRows rows) {
    this.name = name;
    this.rowColumns = rowColumns;
    this.toldAtOnce = toldAtOnce;
    this.rows = rows;
  }

  /** Hears of updates. */
  public interface Listener {
    /** A key has a new row; {@code old} is the one that was told last, null where there was none. */
    void updated(Entry entry, UnsafeRow old, long oldTs, byte[] headers);
  }

  @Override
  public String name() {
    return name;
  }

  /** Where its rows have their pages; null where they have none. */
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
    cacheBytesMax = scope.realTime || toldAtOnce ? 0 : scope.cacheBytesMax;
    tasks = new HashMap<>();
    rows.open(writeThrough, cacheBytesMax > 0, this::writeDirty);
  }

  /** Who hears of updates; set anew after each open. */
  public void tell(Listener listener) {
    this.listener = listener;
  }

  /** What is in memory lives until flush, or the end of the epoch. */
  @Override
  public void select(long grouping) {
    task = tasks.computeIfAbsent(grouping, unused -> new Task());
    rows.select(grouping);
  }

  /** The entry of a key; its row is null where the store has none. */
  public Entry lookup(UnsafeRow key) {
    Entry entry = task.entries.get(key);
    if (entry == null) {
      // Of what may be forgotten: the others would be gone through for each key anew.
      if (task.bytes - task.untoldBytes > ROWS_BYTES_MAX) {
        evict();
      }
      entry = read(key.copy());
      task.entries.put(entry.key, entry);
      task.count(entry);
    }
    if (entry.row != null && entry.untold == null && rows.isOver(entry.key)) {
      entry.row = null;
      task.count(entry);
    }
    return entry.row != null && rows.hasGone(entry.ts) ? withoutRow(entry) : entry;
  }

  /** A record of this time has come to the node that fills the store. */
  public void seen(long ts) {
    rows.seen(ts);
  }

  /** A new entry in the place of one whose row has gone; what is to be told or written of that stays so. */
  private Entry withoutRow(Entry gone) {
    Entry entry = new Entry(gone.key);
    task.entries.put(entry.key, entry);
    task.count(entry);
    return entry;
  }

  /** Puts a row that the store may keep, and tells nobody. */
  public void put(Entry entry, UnsafeRow row, long ts) {
    entry.row = row;
    entry.ts = ts;
    written(entry);
  }

  /** Deletes a row, and tells nobody. */
  public void delete(Entry entry) {
    entry.row = null;
    written(entry);
  }

  /** Puts a copy of a row, or deletes it where that is null, and tells the listener now or later. */
  public void update(Entry entry, UnsafeRow row, long ts, byte[] headers) {
    if (cacheBytesMax == 0) {
      UnsafeRow old = entry.row;
      long oldTs = entry.ts;
      put(entry, copy(row), ts);
      listener.updated(entry, old, oldTs, headers);
    } else if (entry.untold == null) {
      task.holdBack(entry);
      hold(entry, copy(row), ts, headers);
    } else {
      hold(entry, overwritten(entry.row, row), ts, headers);
    }
  }

  /** Nobody has heard of the row that was there: its place is taken. */
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
    entry.untold.setBy(headers, scope.origin);
    put(entry, row, ts);
    task.untold.toEnd(entry);
    if (task.heldBytes > cacheBytesMax) {
      tellUpdates(cacheBytesMax);
    }
  }

  @Override
  public void handOn() {
    tellUpdates(0);
  }

  /** Writes in the order of first changes, and forgets what was read. */
  @Override
  public void flush() {
    rows.settle();
    writeDirty();
    rows.flush();
    task.entries.clear();
    task.bytes = 0;
  }

  private void tellUpdates(long leftBytesMax) {
    byte[] current = scope.origin;
    for (Entry entry;
        task.heldBytes > leftBytesMax && (entry = task.untold.takeFirst()) != null; ) {
      Untold untold = task.letGo(entry);
      boolean wasNeverTold = entry.row == null && untold.old == null;
      if (!wasNeverTold) {
        scope.origin = untold.origin;
        listener.updated(entry, untold.old, untold.oldTs, untold.headers);
      }
    }
    scope.origin = current;
  }

  private void written(Entry entry) {
    if (entry.forgotten) { // Who looked it up has looked up others since.
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
    task.entries.values().removeIf(entry -> entry.forgotten = entry.untold == null);
    task.bytes = task.untoldBytes;
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

  /** A key of the store, as the task sees it now. */
  public static final class Entry {
    public final UnsafeRow key;
    public UnsafeRow row;
    public long ts;
    private Untold untold;
    private Entry toldBefore;
    private Entry toldBehind;
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
          + (untold == null ? 0 : untold.bytes());
    }

    /** Of the record cache: about what Kafka Streams counts, so that it holds as many keys. */
    private long heldBytes() {
      return (long) HELD_OVERHEAD_BYTES
          + key.getSizeInBytes()
          + sizeOf(row)
          + Untold.lengthOf(untold.headers);
    }

    private static int sizeOf(UnsafeRow row) {
      return row == null ? 0 : row.getSizeInBytes();
    }
  }

  /** What the listener has still to hear of a key: the row that it knows, and of the last record. */
  private static final class Untold {
    final UnsafeRow old;
    final long oldTs;
    byte[] headers;
    byte[] origin;

    Untold(UnsafeRow old, long oldTs) {
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

  /** Entries in a list through themselves: a set of them would look up each at each update. */
  private static final class ByLastUpdate {
    private final Entry ends = new Entry(null);

    ByLastUpdate() {
      ends.toldBefore = ends;
      ends.toldBehind = ends;
    }

    /** Lets go of the entry whose last update is the oldest; null where there is none. */
    Entry takeFirst() {
      Entry first = ends.toldBehind;
      if (first == ends) {
        return null;
      }
      unlink(first);
      return first;
    }

    void toEnd(Entry entry) {
      if (entry.toldBehind != null) {
        unlink(entry);
      }
      entry.toldBefore = ends.toldBefore;
      entry.toldBehind = ends;
      ends.toldBefore.toldBehind = entry;
      ends.toldBefore = entry;
    }

    private static void unlink(Entry entry) {
      entry.toldBefore.toldBehind = entry.toldBehind;
      entry.toldBehind.toldBefore = entry.toldBefore;
      entry.toldBehind = null;
    }
  }

  /**
   * What a task has in memory; {@code untoldBytes} is the part of {@code bytes} that is held back, {@code
   * heldBytes} what that counts in the record cache.
   */
  private static final class Task {
    final Map<UnsafeRow, Entry> entries = new HashMap<>();
    final List<Entry> dirty = new ArrayList<>();
    final ByLastUpdate untold = new ByLastUpdate();
    long untoldBytes;
    long heldBytes;
    long bytes;

    /** Counts an entry as large as it is now. */
    void count(Entry entry) {
      long grown = entry.bytes() - entry.counted;
      entry.counted += grown;
      bytes += grown;
      if (entry.untold != null) {
        untoldBytes += grown;
        countHeld(entry);
      }
    }

    private void countHeld(Entry entry) {
      long grown = entry.heldBytes() - entry.held;
      entry.held += grown;
      heldBytes += grown;
    }

    /** From here on an entry has something untold. */
    void holdBack(Entry entry) {
      entry.untold = new Untold(entry.row, entry.ts);
      untoldBytes += entry.counted;
      countHeld(entry);
    }

    /** From here on it has nothing; returns what it had. */
    Untold letGo(Entry entry) {
      Untold untold = entry.untold;
      untoldBytes -= entry.counted;
      heldBytes -= entry.held;
      entry.held = 0;
      entry.untold = null;
      count(entry);
      return untold;
    }
  }
}
