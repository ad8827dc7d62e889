package org.duolog.kernel.store.window;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * Rows of windows in buckets of 10 ms, emitted in order; without Spark.
 *
 * <p>Usage: READ_MAX BYTES_MAX STEP…. A step is {@code +KEY,START,END} (adds a row), {@code -KEY,START,END} (removes a
 * row early), {@code write} (writes rows to the state), or a time: emits and prints rows that have ended by then;
 * {@code all} emits all rows.
 */
public final class DueOrderSteps implements DueOrder.Rows {
  private final Map<Long, Set<UnsafeRow>> state = new HashMap<>();
  private final Set<UnsafeRow> there = new HashSet<>();
  private final Set<UnsafeRow> unwritten = new HashSet<>();
  private DueOrder order;
  private long time;

  public static void main(String[] args) {
    DueOrderSteps steps = new DueOrderSteps();
    steps.order = new DueOrder(steps, Integer.parseInt(args[0]), Long.parseLong(args[1]));
    for (int i = 2; i < args.length; i++) {
      steps.step(args[i]);
    }
  }

  private void step(String step) {
    switch (step.charAt(0)) {
      case '+' -> {
        UnsafeRow key = key(step);
        there.add(key);
        unwritten.add(key);
        order.add(key, false);
      }
      case '-' -> there.remove(key(step));
      case 'w' -> write();
      case 'a' -> System.out.println(String.join(" ", leaving(true)));
      default -> {
        time = Long.parseLong(step);
        System.out.println(String.join(" ", leaving(false)));
      }
    }
  }

  private List<String> leaving(boolean early) {
    List<String> left = new ArrayList<>();
    int readNothing = 0;
    while (readNothing < 100) {
      UnsafeRow key = order.poll(early);
      if (key == null) {
        readNothing++;
      } else if (there.remove(key)) {
        left.add(key.getLong(2) + "/" + key.getLong(1) + "/" + key.getLong(0));
      }
    }
    return left;
  }

  private static UnsafeRow key(String step) {
    UnsafeRow row = UnsafeRow.createFromByteArray(32, 3);
    String[] columns = step.substring(1).split(",");
    for (int i = 0; i < 3; i++) {
      row.setLong(i, Long.parseLong(columns[i]));
    }
    return row;
  }

  @Override
  public Long firstBucket() {
    return state.isEmpty() ? null : new TreeSet<>(state.keySet()).first();
  }

  @Override
  public long bucket(UnsafeRow key) {
    return key.getLong(2) / 10;
  }

  @Override
  public boolean isStored(long bucket) {
    return state.containsKey(bucket);
  }

  @Override
  public Iterator<UnsafeRow> keys(long bucket) {
    return List.copyOf(state.get(bucket)).iterator();
  }

  @Override
  public DueOrder.Position position(UnsafeRow key) {
    byte[] bytes = ByteBuffer.allocate(8).putLong(key.getLong(0)).array();
    return new DueOrder.Position(key.getLong(2), key.getLong(1), bytes);
  }

  @Override
  public boolean mayBeDue(long bucket) {
    return isClosed(bucket * 10);
  }

  @Override
  public long firstEnd(long bucket) {
    return bucket * 10;
  }

  @Override
  public boolean isClosed(long end) {
    return end <= time;
  }

  @Override
  public void write() {
    for (UnsafeRow key : unwritten) {
      if (there.contains(key)) {
        state.computeIfAbsent(bucket(key), unused -> new HashSet<>()).add(key);
        order.written(key);
      }
    }
    unwritten.clear();
    state.values().forEach(keys -> keys.retainAll(there));
  }

  @Override
  public void emptied(long bucket) {
    state.remove(bucket);
  }
}
