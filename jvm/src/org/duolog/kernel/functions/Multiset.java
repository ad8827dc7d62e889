package org.duolog.kernel.functions;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Values and their counts in order: a B-tree whose root is an accumulator.
 *
 * <pre>
 *   root    slot, number of values, of distinct values, of the next page  ++  node
 *   node    0, then  value, count    for each value, ascending           (a leaf)
 *           1, then  bound, page     for each child: its values are not below the bound
 * </pre>
 *
 * <p>Numbers are {@link Varints}; a value follows its length. Without pages, or in slot 0, the root
 * is one leaf of any size. With {@link Pages} the root stays below 2 KiB and pages below 4 KiB:
 * adding to a million values rewrites three of these instead of a megabyte. An empty page is
 * removed; one that is nearly empty is merged with its neighbour.
 *
 * <p>The bytes are part of the checkpoint format. A multiset is never null. Threads: not shared.
 * Source: R. Bayer and E. McCreight, "Organization and Maintenance of Large Ordered Indexes"
 * (1972).
 */
final class Multiset {
  private static final int ROOT_BYTES_MAX = 2 << 10;
  private static final int PAGE_BYTES_MAX = 4 << 10;
  private static final int PAGE_BYTES_MIN = PAGE_BYTES_MAX / 8;
  private static final byte LEAF = 0;
  private static final byte INNER = 1;
  private static final byte[] EMPTY = {LEAF};

  private final Pages pages;
  private final int slot;
  private long total;
  private long distinct;
  private long nextPage;
  private byte[] node;

  /** Receives values; returns false to stop. */
  interface Visitor {
    boolean visit(byte[] value, long count);
  }

  private Multiset(byte[] root, int firstSlot) {
    if (root == null) {
      slot = firstSlot;
      node = EMPTY;
    } else {
      Varints in = new Varints(root, 0);
      slot = (int) in.next();
      total = in.next();
      distinct = in.next();
      nextPage = in.next();
      node = Arrays.copyOfRange(root, in.at(), root.length);
    }
    pages = slot == 0 ? null : Pages.atHand();
  }

  /** Returns the multiset of a root; null is the empty multiset. */
  static Multiset of(byte[] root) {
    return new Multiset(root, 0);
  }

  /** The same with pages in this slot; 0 for no pages. */
  static Multiset of(byte[] root, int slot) {
    return new Multiset(root, slot);
  }

  long total() {
    return total;
  }

  long distinct() {
    return distinct;
  }

  /** Returns the root; null if the multiset is empty. */
  byte[] bytes() {
    if (total == 0) {
      return null;
    }
    return new Varints.Writer(node.length + 4 * Varints.BYTES_MAX)
        .number(slot)
        .number(total)
        .number(distinct)
        .number(nextPage)
        .raw(node, 0, node.length)
        .bytes();
  }

  Multiset add(byte[] value) {
    change(value, 1);
    return this;
  }

  /** Removes a value once; has no effect if it is not there. */
  Multiset subtract(byte[] value) {
    change(value, -1);
    return this;
  }

  private void change(byte[] value, long by) {
    node = changed(node, value, by);
    if (pages == null) {
      return;
    }
    if (node.length > ROOT_BYTES_MAX && Entries.middle(node, node[0] == LEAF) > 0) {
      node = concat(new byte[] {INNER}, children(new byte[0], node, ROOT_BYTES_MAX));
    }
    // A root with one child is replaced by that child, if it fits.
    while (node[0] == INNER) {
      Entries all = Entries.of(node);
      if (!all.next()) {
        node = EMPTY;
      } else if (all.end == node.length && page(all.number).length <= ROOT_BYTES_MAX) {
        node = page(all.number);
        pages.drop(slot, all.number);
      } else {
        return;
      }
    }
  }

  /**
   * Returns the node after adding or removing a value; the same node if there is nothing to remove.
   */
  private byte[] changed(byte[] node, byte[] value, long by) {
    return node[0] == LEAF ? changedLeaf(node, value, by) : changedInner(node, value, by);
  }

  private byte[] changedLeaf(byte[] leaf, byte[] value, long by) {
    Entries at = Entries.of(leaf);
    boolean found = at.seek(value);
    if (!found && by < 0) {
      return leaf;
    }
    long count = (found ? at.number : 0) + by;
    total += by;
    distinct += found ? 0 : 1;
    distinct -= count == 0 ? 1 : 0;
    byte[] entry = count == 0 ? new byte[0] : Entries.entry(value, count);
    return splice(leaf, at.start, found ? at.end : at.start, entry);
  }

  private byte[] changedInner(byte[] inner, byte[] value, long by) {
    Entries at = Entries.of(inner);
    at.next();
    Entries after = Entries.of(inner);
    after.next();
    while (after.next() && after.compareTo(value) <= 0) {
      at.next();
    }
    byte[] child = page(at.number);
    byte[] changed = changed(child, value, by);
    if (changed == child) {
      return inner;
    }
    pages.drop(slot, at.number);
    int end = at.end;
    if (changed.length < PAGE_BYTES_MIN && changed.length > 1 && after.isPresent()) {
      byte[] neighbour = page(after.number);
      if (neighbour[0] == changed[0] && neighbour.length + changed.length <= PAGE_BYTES_MAX) {
        pages.drop(slot, after.number);
        changed = joined(changed, neighbour, after.value());
        end = after.end;
      }
    }
    byte[] entries =
        changed.length > 1 ? children(at.value(), changed, PAGE_BYTES_MAX) : new byte[0];
    return splice(inner, at.start, end, entries);
  }

  /**
   * Merges two nodes; {@code bound} is that of the second one, below which its first child may have
   * values.
   */
  private static byte[] joined(byte[] node, byte[] next, byte[] bound) {
    Entries first = Entries.of(next);
    first.next();
    byte[] rest = Arrays.copyOfRange(next, next[0] == INNER ? first.end : first.start, next.length);
    return next[0] == INNER
        ? concat(concat(node, Entries.entry(bound, first.number)), rest)
        : concat(node, rest);
  }

  /** Returns the entries of a node that becomes a page, or two pages if it is too large. */
  private byte[] children(byte[] bound, byte[] node, int bytesMax) {
    int middle = node.length > bytesMax ? Entries.middle(node, node[0] == LEAF) : 0;
    if (middle == 0) {
      return Entries.entry(bound, written(node));
    }
    byte[] first = Arrays.copyOf(node, middle);
    byte[] second = splice(node, 1, middle, new byte[0]);
    Entries of = Entries.of(second);
    of.next();
    byte[] between = of.value();
    byte[] left = Entries.entry(bound, written(first));
    return concat(left, Entries.entry(between, written(second)));
  }

  private long written(byte[] node) {
    pages.write(slot, nextPage, node);
    return nextPage++;
  }

  private byte[] page(long number) {
    return pages.page(slot, number);
  }

  /** Visits values in ascending or descending order. */
  void visit(boolean greatestFirst, Visitor visitor) {
    visit(node, greatestFirst, visitor);
  }

  private boolean visit(byte[] node, boolean greatestFirst, Visitor visitor) {
    if (greatestFirst) {
      return visitBackwards(node, visitor);
    }
    Entries all = Entries.of(node);
    boolean goOn = true;
    while (goOn && all.next()) {
      goOn =
          node[0] == LEAF
              ? visitor.visit(all.value(), all.number)
              : visit(page(all.number), false, visitor);
    }
    return goOn;
  }

  private boolean visitBackwards(byte[] node, Visitor visitor) {
    List<Integer> starts = new ArrayList<>();
    for (Entries all = Entries.of(node); all.next(); ) {
      starts.add(all.start);
    }
    boolean goOn = true;
    for (int i = starts.size() - 1; goOn && i >= 0; i--) {
      Entries at = Entries.from(node, starts.get(i));
      goOn =
          node[0] == LEAF
              ? visitor.visit(at.value(), at.number)
              : visitBackwards(page(at.number), visitor);
    }
    return goOn;
  }

  /** Returns true if no value is below this one. Only for a multiset with one leaf. */
  boolean isNotBelow(byte[] value) {
    Entries all = Entries.of(node);
    return all.next() && all.compareTo(value) >= 0;
  }

  boolean contains(byte[] value) {
    return Entries.of(node).seek(value);
  }

  /** Drops the least values, so that no more than {@code max} are left. Only for one leaf. */
  Multiset trim(long max, boolean byDistinct) {
    Entries all = Entries.of(node);
    int from = 1;
    byte[] rest = new byte[0];
    while ((byDistinct ? distinct : total) > max && all.next()) {
      long goes = byDistinct ? all.number : Math.min(all.number, total - max);
      total -= goes;
      from = all.end;
      if (goes == all.number) {
        distinct--;
      } else {
        byte[] value = all.value();
        rest = Entries.entry(value, all.number - goes);
      }
    }
    node = splice(node, 1, from, rest);
    return this;
  }

  /**
   * Adds all values of another multiset, except for new values beyond {@code distinctMax}. Both
   * must have one leaf.
   */
  Multiset addAll(Multiset other, long distinctMax) {
    Varints.Writer out = new Varints.Writer(node.length + other.node.length);
    out.raw(EMPTY, 0, EMPTY.length);
    Entries mine = Entries.of(node);
    Entries theirs = Entries.of(other.node);
    mine.next();
    theirs.next();
    while (mine.isPresent() || theirs.isPresent()) {
      int order = !mine.isPresent() ? 1 : !theirs.isPresent() ? -1 : mine.compareTo(theirs.value());
      boolean taken = order == 0 || (order > 0 && distinct < distinctMax);
      if (order <= 0) {
        byte[] value = mine.value();
        out.value(value, 0, value.length).number(mine.number + (order == 0 ? theirs.number : 0));
      } else if (taken) {
        byte[] value = theirs.value();
        out.value(value, 0, value.length).number(theirs.number);
        distinct++;
      }
      if (taken) {
        total += theirs.number;
      }
      if (order <= 0) {
        mine.next();
      }
      if (order >= 0) {
        theirs.next();
      }
    }
    node = out.bytes();
    return this;
  }

  private static byte[] splice(byte[] bytes, int from, int to, byte[] between) {
    byte[] found = new byte[bytes.length - (to - from) + between.length];
    System.arraycopy(bytes, 0, found, 0, from);
    System.arraycopy(between, 0, found, from, between.length);
    System.arraycopy(bytes, to, found, from + between.length, bytes.length - to);
    return found;
  }

  private static byte[] concat(byte[] one, byte[] other) {
    return splice(one, one.length, one.length, other);
  }
}
