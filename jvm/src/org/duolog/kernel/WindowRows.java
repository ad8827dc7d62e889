package org.duolog.kernel;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * The rows of windows, which go when stream time closes their windows.
 *
 * <pre>
 *   (task, bucket), key bytes  ->  {@link StoredRow}     bucket = window start / interval
 *   task, 0  ->  stream time                       8 bytes, big-endian
 *   task, 1  ->  buckets that may have rows        8 bytes each, big-endian, ascending
 *   task, 2  ->  how many rows there are, and of how many bytes, if that is counted      8 bytes each
 * </pre>
 *
 * <p>The last two columns of a key are its window's start and end. Stream time is the greatest timestamp
 * that was seen; a window is closed where its end is not above stream time less the grace period. Its
 * row may be kept a while longer ({@link Closing#letGoUntil}); then it is over, and is neither written
 * nor found any more. A bucket all of whose windows are over is scanned and emptied: at the end of a micro-batch, or in real time a few rows with each record, so
 * that a million windows that close at once hold nobody up.
 *
 * <p>With an order, rows leave when their windows close ({@link DueRows}): none is let go of before, and
 * none stays behind.
 *
 * <p>Threads: one at a time. Source: Kafka Streams AbstractRocksDBSegmentedBytesStore, which keeps no
 * stream time over a restart.
 */
final class WindowRows implements StateRows {
  private static final long serialVersionUID = 1L;
  private static final byte[] TIME = {0};
  private static final byte[] BUCKETS = {1};
  private static final byte[] COUNTS = {2};
  private static final long NO_TIME = -1;
  private static final int EXPIRED_PER_RECORD = 64;
  private static final int READ_PER_RECORD = 10_000;

  private final BucketStore rows;
  private final int endColumn;
  private final int bucketColumn;
  private final Closing closing;
  private final long intervalMs;
  private final Program indexKey;
  private final Order order;
  private final int keyColumns;
  private transient Operands keyOperands;
  private transient MapState<byte[], byte[]> state;
  private transient boolean writeThrough;
  private transient boolean cached;
  private transient Runnable write;
  private transient Map<Long, Task> tasks;
  private transient Task task;

  /** @param keyColumns of a key with its window */
  WindowRows(String name, int keyColumns, Grouping grouping, Closing closing) {
    this(name, keyColumns, grouping, closing, null, null);
  }

  /**
   * @param indexKey computes of a key with its window what the window is found by in the index; or null
   * @param order in which rows leave when their windows close; null where they are told before
   */
  WindowRows(
      String name,
      int keyColumns,
      Grouping grouping,
      Closing closing,
      Program indexKey,
      Order order) {
    this.rows = new BucketStore(name, keyColumns, 0, grouping);
    this.endColumn = keyColumns - 1;
    this.bucketColumn = closing.bucketsByEnd() ? keyColumns - 1 : keyColumns - 2;
    this.closing = closing;
    this.intervalMs = closing.bucketMs();
    this.indexKey = indexKey;
    this.order = order;
    this.keyColumns = keyColumns;
  }

  /**
   * Rows of one end leave in the order of these bytes of their keys.
   *
   * @param byStart whether the start of their windows goes before
   */
  record Order(Program keyBytes, boolean byStart) implements Serializable {
    private static final long serialVersionUID = 1L;
  }

  @Override
  public void attach(MapState<byte[], byte[]> state) {
    this.state = state;
    rows.attach(state);
  }

  @Override
  public void open(boolean writeThrough, boolean cached, Runnable write) {
    this.writeThrough = writeThrough;
    this.cached = cached;
    this.write = write;
    tasks = new HashMap<>();
  }

  @Override
  public void select(long grouping) {
    rows.select(grouping);
    task = tasks.computeIfAbsent(grouping, unused -> load());
  }

  /** A record was seen: moves stream time on, and in real time lets go of some of what has expired. */
  void observe(long ts) {
    if (ts > task.streamTime) {
      task.streamTime = ts;
      task.over = closing.letGoUntil(ts);
      task.moved = true;
    }
    if (writeThrough) {
      if (order == null) {
        expire(EXPIRED_PER_RECORD);
      }
      writeTask();
    }
  }

  /** A row was made, of a key that its maker keeps: it leaves in its turn. */
  void made(UnsafeRow key) {
    task.due.made(key, writeThrough);
  }

  /**
   * Takes the key of the row that leaves next; null where none does with this record.
   *
   * @param early whether one leaves that is not due
   */
  UnsafeRow pollDue(boolean early) {
    UnsafeRow key = task.due.poll(early);
    if (writeThrough) {
      writeTask();
    }
    return key;
  }

  boolean isClosed(long end) {
    return end <= task.streamTime - closing.delayMs();
  }

  /** Whether the row of a window with this end is let go. */
  boolean isOver(long end) {
    return end <= task.over;
  }

  /** With a record cache it is found until the micro-batch ends, as in Kafka Streams. */
  @Override
  public boolean isOver(UnsafeRow key) {
    return order == null && end(key) <= (cached ? task.overAtFirst : task.over);
  }

  /** Counts rows that have come or gone. */
  void count(int rows, long bytes) {
    task.rows += rows;
    task.bytes += bytes;
    task.counted = true;
  }

  /** How many rows were counted. */
  long held() {
    return task.rows;
  }

  /** How many bytes were counted. */
  long heldBytes() {
    return task.bytes;
  }

  /** The windows of the task's keys. */
  WindowIndex index() {
    return task.index;
  }

  void openKeys(int partition) {
    keyOperands = new Operands(keyColumns, 0, 0);
    if (indexKey != null) {
      indexKey.open(partition);
    }
    if (order != null) {
      order.keyBytes.open(partition);
    }
  }

  void closeKeys() {
    if (indexKey != null) {
      indexKey.close();
    }
    if (order != null) {
      order.keyBytes.close();
    }
  }

  @Override
  public byte[] get(UnsafeRow key) {
    return rows.bytes(bucket(key), key);
  }

  @Override
  public void put(UnsafeRow key, byte[] row) {
    if (isOver(key)) {
      forget(key);
      return;
    }
    long bucket = bucket(key);
    task.due.written(key);
    if (task.buckets.add(bucket)) {
      task.changed = true;
      if (writeThrough) {
        writeTask();
      }
    }
    rows.putBytes(bucket, key, row);
  }

  @Override
  public void remove(UnsafeRow key) {
    long bucket = bucket(key);
    if (task.buckets.contains(bucket) || task.emptied.contains(bucket)) {
      rows.delete(bucket, key);
    }
  }

  @Override
  public void settle() {
    task.overAtFirst = task.over;
  }

  @Override
  public void flush() {
    task.emptied.clear();
    if (order == null) {
      expire(Integer.MAX_VALUE);
    }
    if (indexKey != null) {
      task.index.flush();
    }
    writeTask();
  }

  private long bucket(UnsafeRow key) {
    return Math.floorDiv(key.getLong(bucketColumn), intervalMs);
  }

  private long start(UnsafeRow key) {
    return key.getLong(endColumn - 1);
  }

  private long end(UnsafeRow key) {
    return key.getLong(endColumn);
  }

  private boolean hasExpired(long bucket) {
    long next = Windows.end(bucket * intervalMs, intervalMs);
    return isOver(closing.lastEnd(next - 1));
  }

  /** Deletes up to so many rows of buckets that have expired. */
  private void expire(int rowsMax) {
    int left = rowsMax;
    while (left > 0 && !task.buckets.isEmpty() && hasExpired(task.buckets.first())) {
      long bucket = task.buckets.first();
      if (task.expiring == null) {
        task.expiring = rows.keys(bucket);
      }
      for (; left > 0 && task.expiring.hasNext(); left--) {
        UnsafeRow key = task.expiring.next();
        // Buckets far apart may share a place.
        if (bucket(key) == bucket) {
          rows.delete(bucket, key);
          forget(key);
        }
      }
      if (!task.expiring.hasNext()) {
        task.expiring = null;
        task.buckets.remove(bucket);
        task.changed = true;
      }
    }
  }

  /** What a row is found by in the index, or its key; valid until the next call. */
  UnsafeRow found(UnsafeRow key) {
    return indexKey == null ? key : indexKey.apply(keyOperands.of(key, null, null, 0));
  }

  /** What has no row is not in the index either. */
  private void forget(UnsafeRow key) {
    if (indexKey != null) {
      WindowIndex.Entry known = task.index.of(found(key));
      if (known.forgetOver(this)) {
        task.index.changed(known);
      }
    }
  }

  /** A row has left: nobody finds it by its key any more. */
  void left(UnsafeRow key) {
    if (indexKey != null) {
      WindowIndex.Entry known = task.index.of(found(key));
      if (known.windows.remove(new WindowIndex.Bounds(start(key), end(key)))) {
        task.index.changed(known);
      }
    }
  }

  private Task load() {
    DueOrder due = new DueOrder(new Due(), writeThrough ? READ_PER_RECORD : Integer.MAX_VALUE);
    Task loaded = new Task(new WindowIndex(state, writeThrough), due);
    byte[] time = state.getValue(TIME);
    loaded.streamTime = time == null ? NO_TIME : ByteBuffer.wrap(time).getLong();
    loaded.over = time == null ? Long.MIN_VALUE : closing.letGoUntil(loaded.streamTime);
    loaded.overAtFirst = loaded.over;
    byte[] buckets = state.getValue(BUCKETS);
    if (buckets != null) {
      for (ByteBuffer left = ByteBuffer.wrap(buckets); left.hasRemaining(); ) {
        loaded.buckets.add(left.getLong());
      }
    }
    byte[] counts = state.getValue(COUNTS);
    if (counts != null) {
      loaded.rows = ByteBuffer.wrap(counts).getLong();
      loaded.bytes = ByteBuffer.wrap(counts).getLong(Long.BYTES);
    }
    return loaded;
  }

  private void writeTask() {
    if (task.moved) {
      state.updateValue(TIME, ByteBuffer.allocate(Long.BYTES).putLong(task.streamTime).array());
      task.moved = false;
    }
    if (task.changed) {
      ByteBuffer buckets = ByteBuffer.allocate(task.buckets.size() * Long.BYTES);
      task.buckets.forEach(buckets::putLong);
      state.updateValue(BUCKETS, buckets.array());
      task.changed = false;
    }
    if (task.counted) {
      ByteBuffer counts = ByteBuffer.allocate(2 * Long.BYTES);
      state.updateValue(COUNTS, counts.putLong(task.rows).putLong(task.bytes).array());
      task.counted = false;
    }
  }

  /** What is known of a task; what differs from the state is written with a record, or at the end. */
  private static final class Task {
    final TreeSet<Long> buckets = new TreeSet<>();
    final WindowIndex index;
    final DueOrder due;

    /** Buckets whose rows have left in memory, and are not yet deleted from the state. */
    final Set<Long> emptied = new HashSet<>();

    long streamTime;

    /** Up to which end rows of windows are let go: now, and at the micro-batch's start. */
    long over;

    long overAtFirst;
    long rows;
    long bytes;
    boolean moved;
    boolean changed;
    boolean counted;

    /** What is left of the scan of the first bucket; null before it. */
    Iterator<UnsafeRow> expiring;

    Task(WindowIndex index, DueOrder due) {
      this.index = index;
      this.due = due;
    }
  }

  /** What the order of leaving asks of the running task's rows. */
  private final class Due implements DueOrder.Rows {
    @Override
    public Long firstBucket() {
      return task.buckets.isEmpty() ? null : task.buckets.first();
    }

    @Override
    public long bucket(UnsafeRow key) {
      return WindowRows.this.bucket(key);
    }

    @Override
    public boolean isStored(long bucket) {
      return task.buckets.contains(bucket);
    }

    @Override
    public Iterator<UnsafeRow> keys(long bucket) {
      return rows.keys(bucket);
    }

    @Override
    public DueOrder.Place place(UnsafeRow key) {
      byte[] bytes = order.keyBytes.bytes(keyOperands.of(key, null, null, 0));
      return new DueOrder.Place(end(key), order.byStart ? start(key) : 0, bytes);
    }

    @Override
    public boolean mayBeDue(long bucket) {
      return WindowRows.this.isClosed(closing.firstEnd(bucket * intervalMs));
    }

    @Override
    public boolean isClosed(long end) {
      return WindowRows.this.isClosed(end);
    }

    @Override
    public void write() {
      write.run();
    }

    @Override
    public void emptied(long bucket) {
      if (task.buckets.remove(bucket)) {
        task.changed = true;
        if (!writeThrough) {
          task.emptied.add(bucket);
        }
      }
    }
  }
}
