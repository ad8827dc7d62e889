package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * The windows of each key in the order of time, for windows whose bounds do not follow from a
 * single record.
 *
 * <pre>  task, key bytes of an UnsafeRow  ->  start, end of each window   8 bytes each, big-endian
 * </pre>
 *
 * <p>The key is that of sessions, or that of sliding windows with a span of starts. Stored among
 * the rows of the windows ({@link WindowRows}); a key is longer than those of the task's own
 * entries. Threads: one at a time.
 */
public final class WindowIndex {
  private static final int KEYS_MAX = 100_000;

  private final MapState<byte[], byte[]> state;
  private final boolean writeThrough;
  private final Map<UnsafeRow, Entry> entries = new HashMap<>();

  WindowIndex(MapState<byte[], byte[]> state, boolean writeThrough) {
    this.state = state;
    this.writeThrough = writeThrough;
  }

  /** The bounds of a window. */
  public record Bounds(long start, long end) {
    private static final Comparator<Bounds> IN_TIME =
        Comparator.comparingLong(Bounds::start).thenComparingLong(Bounds::end);
  }

  /** Returns the windows of a key. Call {@link #changed} after changing them. */
  public Entry of(UnsafeRow key) {
    Entry entry = entries.get(key);
    if (entry == null) {
      if (entries.size() >= KEYS_MAX) {
        flush();
      }
      entry = read(key.copy());
      entries.put(entry.key, entry);
    }
    return entry;
  }

  public void changed(Entry entry) {
    if (writeThrough) {
      write(entry);
    } else {
      entry.dirty = true;
    }
  }

  /** Writes changes, and drops what was read. */
  void flush() {
    for (Entry entry : entries.values()) {
      if (entry.dirty) {
        write(entry);
      }
    }
    entries.clear();
  }

  private Entry read(UnsafeRow key) {
    Entry entry = new Entry(key);
    byte[] bytes = state.getValue(key.getBytes());
    if (bytes != null) {
      for (ByteBuffer left = ByteBuffer.wrap(bytes); left.hasRemaining(); ) {
        entry.windows.add(new Bounds(left.getLong(), left.getLong()));
      }
    }
    return entry;
  }

  private void write(Entry entry) {
    byte[] key = entry.key.getBytes();
    if (entry.windows.isEmpty()) {
      state.removeKey(key);
      return;
    }
    ByteBuffer bytes = ByteBuffer.allocate(entry.windows.size() * 2 * Long.BYTES);
    entry.windows.forEach(window -> bytes.putLong(window.start()).putLong(window.end()));
    state.updateValue(key, bytes.array());
  }

  /** A key and its windows; those that start first also end first. */
  public static final class Entry {
    final UnsafeRow key;
    public final TreeSet<Bounds> windows = new TreeSet<>(Bounds.IN_TIME);
    private boolean dirty;

    private Entry(UnsafeRow key) {
      this.key = key;
    }

    /** Removes windows whose rows have expired; returns true if there were any. */
    public boolean forgetOver(WindowRows rows) {
      boolean forgot = false;
      while (!windows.isEmpty() && rows.isOver(windows.first().end())) {
        windows.pollFirst();
        forgot = true;
      }
      return forgot;
    }
  }
}
