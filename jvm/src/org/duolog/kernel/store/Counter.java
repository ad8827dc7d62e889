package org.duolog.kernel.store;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.streaming.MapState;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Store;

/**
 * Numbers that increase from 1, separately for each task, across restarts.
 *
 * <pre>
 *   task, 0  ->  the highest number that may have been issued (8 bytes, big-endian)
 * </pre>
 *
 * <p>Numbers are reserved in blocks to save writes; the rest of a block is skipped after the end of
 * a micro-batch or epoch. Threads: one at a time.
 */
public final class Counter implements Store {
  private static final long serialVersionUID = 1L;
  private static final byte[] RESERVED = {0};
  private static final long BLOCK = 1024;

  private final String name;
  private transient MapState<byte[], byte[]> state;
  private transient Map<Long, Task> tasks;
  private transient Task task;

  public Counter(String name) {
    this.name = name;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
  }

  @Override
  public void open(NodeContext scope) {
    tasks = new HashMap<>();
  }

  @Override
  public void select(long grouping) {
    task = tasks.computeIfAbsent(grouping, unused -> load());
  }

  @Override
  public void flush() {}

  public long next() {
    if (task.given == task.reserved) {
      task.reserved += BLOCK;
      state.updateValue(RESERVED, ByteBuffer.allocate(Long.BYTES).putLong(task.reserved).array());
    }
    return ++task.given;
  }

  private Task load() {
    byte[] reserved = state.getValue(RESERVED);
    Task loaded = new Task();
    loaded.reserved = reserved == null ? 0 : ByteBuffer.wrap(reserved).getLong();
    loaded.given = loaded.reserved;
    return loaded;
  }

  @Override
  public String toString() {
    return "store " + name;
  }

  private static final class Task {
    long given;
    long reserved;
  }
}
