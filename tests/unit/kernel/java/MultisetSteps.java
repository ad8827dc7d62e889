package org.duolog.kernel.functions;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Adds random values to multisets and removes them, in comparison with Java's sorted map. Each step is evaluated twice,
 * and some are discarded. Prints errors, and then for a multiset of {@code args[0]} values: the number of pages, the
 * bytes of the largest one and of the root, and the most bytes that one step has written.
 */
public final class MultisetSteps implements Pages {
  private final Map<String, byte[]> kept = new HashMap<>();
  private final Map<String, byte[]> written = new HashMap<>();
  private final List<String> dropped = new ArrayList<>();
  private final TreeMap<byte[], Long> wanted = new TreeMap<>(Arrays::compareUnsigned);
  private byte[] root;
  private long bytesMax;

  private MultisetSteps() {}

  public static void main(String[] args) {
    for (int seed = 0; seed < 12; seed++) {
      new MultisetSteps().run(new Random(seed), seed % 3);
    }
    new MultisetSteps().fill(Integer.parseInt(args[0]));
  }

  /** @param kind 0: few values, 1: many numbers, 2: texts of all lengths */
  private void run(Random random, int kind) {
    for (int phase = 0; phase < 6; phase++) {
      double adds = phase % 2 == 0 ? 0.8 : 0.15;
      for (int i = 0; i < 3000; i++) {
        byte[] value = value(random, kind);
        boolean add = random.nextDouble() < adds;
        if (!add && random.nextInt(4) > 0 && !wanted.isEmpty()) {
          byte[] some = wanted.ceilingKey(value);
          value = some == null ? wanted.firstKey() : some;
        }
        step(value, add, random.nextInt(20) == 0);
        if (i % 97 == 0) {
          check();
        }
      }
      check();
    }
    while (!wanted.isEmpty()) {
      step(wanted.firstKey(), false, false);
    }
    check();
    ensure(root == null && kept.isEmpty(), "something is left of nothing");
  }

  private void fill(int values) {
    Random random = new Random(1);
    for (int i = 0; i < values; i++) {
      step(number(random.nextLong()), true, false);
    }
    bytesMax = 0;
    for (int i = 0; i < 10_000; i++) {
      step(wanted.firstKey(), false, false);
      step(number(random.nextLong()), true, false);
    }
    check();
    int largest = kept.values().stream().mapToInt(page -> page.length).max().orElse(0);
    System.out.println(kept.size() + " " + largest + " " + root.length + " " + bytesMax);
  }

  private static byte[] value(Random random, int kind) {
    return switch (kind) {
      case 0 -> number(random.nextInt(20));
      case 1 -> number(random.nextLong());
      default -> {
        byte[] text = new byte[random.nextInt(random.nextInt(50) == 0 ? 5000 : 40)];
        random.nextBytes(text);
        yield text;
      }
    };
  }

  private static byte[] number(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }

  private void step(byte[] value, boolean add, boolean givenUp) {
    written.clear();
    dropped.clear();
    byte[] first = Pages.within(this, () -> changed(value, add));
    byte[] next = Pages.within(this, () -> changed(value, add));
    ensure(Arrays.equals(first, next), "a step that is computed twice gives two results");
    if (givenUp) {
      return;
    }
    root = next;
    kept.putAll(written);
    dropped.forEach(kept::remove);
    long bytes = written.values().stream().mapToLong(page -> page.length).sum();
    bytesMax = Math.max(bytesMax, bytes + (root == null ? 0 : root.length));
    if (add) {
      wanted.merge(value, 1L, Long::sum);
    } else {
      wanted.computeIfPresent(value, (at, count) -> count == 1 ? null : count - 1);
    }
  }

  private byte[] changed(byte[] value, boolean add) {
    Multiset now = Multiset.of(root, 1);
    return (add ? now.add(value) : now.subtract(value)).bytes();
  }

  private void check() {
    Pages.within(
        this,
        () -> {
          Multiset now = Multiset.of(root);
          ensure(now.distinct() == wanted.size(), "another number of different values");
          long total = wanted.values().stream().mapToLong(Long::longValue).sum();
          ensure(now.total() == total, "another number of values");
          visit(now, false, wanted);
          visit(now, true, wanted.descendingMap());
          return null;
        });
  }

  private static void visit(Multiset now, boolean greatestFirst, Map<byte[], Long> wanted) {
    var left = wanted.entrySet().iterator();
    now.visit(
        greatestFirst,
        (value, count) -> {
          var next = left.next();
          boolean same = Arrays.equals(next.getKey(), value) && next.getValue() == count;
          ensure(same, "other values, or in another order");
          return same;
        });
    ensure(!left.hasNext(), "values are missing");
  }

  private static void ensure(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException(what);
    }
  }

  @Override
  public byte[] page(int slot, long number) {
    byte[] page = written.get(slot + " " + number);
    return page == null ? kept.get(slot + " " + number) : page;
  }

  @Override
  public void write(int slot, long number, byte[] page) {
    written.put(slot + " " + number, page);
  }

  @Override
  public void drop(int slot, long number) {
    dropped.add(slot + " " + number);
  }
}
