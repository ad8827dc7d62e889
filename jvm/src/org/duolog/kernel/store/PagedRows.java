package org.duolog.kernel.store;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.functions.Pages;

/**
 * Rows in one map, and pages for values that have outgrown their rows.
 *
 * <pre>
 *   key bytes                                ->  {@code StoredRow}      (a multiple of eight bytes)
 *   key bytes ++ slot (4) ++ number (8) ++ 0 ->  page                   (five bytes more)
 * </pre>
 *
 * <p>Pages that a step has written and dropped take effect with {@link #keep}. In a micro-batch
 * pages stay in memory until the end, or until there are too many; in real time they are written at
 * once, and memory serves reads.
 *
 * <p>Threads: one at a time.
 */
public final class PagedRows implements StateRows, Pages {
  private static final long serialVersionUID = 1L;
  private static final long PAGES_BYTES_MAX = 32L << 20;
  private static final int PAGE_OVERHEAD_BYTES = 160;

  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient Map<Long, Task> tasks;
  private transient Task task;
  private transient UnsafeRow key;
  private transient Map<ByteBuffer, byte[]> written;
  private transient Set<ByteBuffer> dropped;

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
  }

  @Override
  public void open(boolean writeThrough, boolean cached, Runnable write) {
    this.writeThrough = writeThrough;
    tasks = new HashMap<>();
    written = new HashMap<>();
    dropped = new HashSet<>();
  }

  @Override
  public void select(long grouping) {
    task = tasks.computeIfAbsent(grouping, unused -> new Task());
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
    return false;
  }

  /** Selects the key of the following pages, and discards changes that were not kept. */
  public void begin(UnsafeRow key) {
    this.key = key;
    written.clear();
    dropped.clear();
  }

  @Override
  public byte[] page(int slot, long number) {
    ByteBuffer at = at(slot, number);
    byte[] page = written.get(at);
    if (page == null) {
      page = task.pages.get(at);
    }
    if (page == null) {
      page = state.getValue(at.array());
      task.remember(at, page);
    }
    return page;
  }

  @Override
  public void write(int slot, long number, byte[] page) {
    written.put(at(slot, number), page);
  }

  @Override
  public void drop(int slot, long number) {
    dropped.add(at(slot, number));
  }

  /** Applies the changes since {@link #begin}. */
  public void keep() {
    for (ByteBuffer at : dropped) {
      if (written.remove(at) == null) {
        task.forget(at);
        task.change(at, null);
      }
    }
    written.forEach(
        (at, page) -> {
          task.remember(at, page);
          task.change(at, page);
        });
    if (writeThrough || task.bytes > PAGES_BYTES_MAX) {
      writeChanges();
    }
  }

  @Override
  public void flush() {
    writeChanges();
    task.pages.clear();
    task.bytes = 0;
  }

  private void writeChanges() {
    task.changes.forEach(
        (at, page) -> {
          if (page == null) {
            state.removeKey(at.array());
          } else {
            state.updateValue(at.array(), page);
          }
        });
    task.changes.clear();
    if (task.bytes > PAGES_BYTES_MAX) {
      task.pages.clear();
      task.bytes = 0;
    }
  }

  private ByteBuffer at(int slot, long number) {
    int size = key.getSizeInBytes();
    ByteBuffer at = ByteBuffer.allocate(size + Integer.BYTES + Long.BYTES + 1);
    at.put(key.getBytes()).putInt(slot).putLong(number).put((byte) 0);
    return at.flip();
  }

  /** The memory of a task: current pages, and those that differ from the state. */
  private static final class Task {
    final Map<ByteBuffer, byte[]> pages = new HashMap<>();
    final Map<ByteBuffer, byte[]> changes = new HashMap<>();
    long bytes;

    void remember(ByteBuffer at, byte[] page) {
      pages.put(at, page);
      bytes += page.length + PAGE_OVERHEAD_BYTES;
    }

    void forget(ByteBuffer at) {
      byte[] page = pages.remove(at);
      if (page != null) {
        bytes -= page.length + PAGE_OVERHEAD_BYTES;
      }
    }

    void change(ByteBuffer at, byte[] page) {
      changes.put(at, page);
    }
  }
}
