package org.duolog.kernel;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * Which sessions a key has: their bounds, in the order of time.
 *
 * <pre>  task, key bytes of an UnsafeRow  ->  start, end of each session   8 bytes each, big-endian
 * </pre>
 *
 * <p>Lies beside the rows of the sessions ({@link WindowRows}); a key is longer than what stands there
 * of the task itself. Threads: one at a time.
 */
final class SessionIndex {
  private static final int KEYS_MAX = 100_000;

  private final MapState<byte[], byte[]> state;
  private final boolean writeThrough;
  private final Map<UnsafeRow, Entry> entries = new HashMap<>();

  SessionIndex(MapState<byte[], byte[]> state, boolean writeThrough) {
    this.state = state;
    this.writeThrough = writeThrough;
  }

  /** The bounds of a session, both of them timestamps of records. */
  record Bounds(long start, long end) {}

  /** The sessions of a key. Whoever changes them says so with {@link #changed}. */
  Entry of(UnsafeRow key) {
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

  void changed(Entry entry) {
    if (writeThrough) {
      write(entry);
    } else {
      entry.dirty = true;
    }
  }

  /** Writes what has changed, and forgets what was read. */
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
        entry.sessions.add(new Bounds(left.getLong(), left.getLong()));
      }
    }
    return entry;
  }

  private void write(Entry entry) {
    byte[] key = entry.key.getBytes();
    if (entry.sessions.isEmpty()) {
      state.removeKey(key);
      return;
    }
    ByteBuffer bytes = ByteBuffer.allocate(entry.sessions.size() * 2 * Long.BYTES);
    entry.sessions.forEach(session -> bytes.putLong(session.start()).putLong(session.end()));
    state.updateValue(key, bytes.array());
  }

  /** A key and its sessions. */
  static final class Entry {
    final UnsafeRow key;
    final List<Bounds> sessions = new ArrayList<>();
    private boolean dirty;

    private Entry(UnsafeRow key) {
      this.key = key;
    }

    /** Adds a session in its place. */
    void add(Bounds session) {
      int at = 0;
      while (at < sessions.size() && sessions.get(at).start() < session.start()) {
        at++;
      }
      sessions.add(at, session);
    }

    /** Forgets the sessions that have closed; returns whether there were any. */
    boolean forgetClosed(WindowRows rows) {
      boolean forgot = false;
      for (Iterator<Bounds> all = sessions.iterator(); all.hasNext(); ) {
        if (rows.isClosed(all.next().end())) {
          all.remove();
          forgot = true;
        }
      }
      return forgot;
    }
  }
}
