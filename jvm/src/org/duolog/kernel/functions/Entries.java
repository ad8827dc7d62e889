package org.duolog.kernel.functions;

import java.util.Arrays;

/**
 * Iterates over the entries of a node of a {@link Multiset}: a value, and a number.
 *
 * <p>Threads: not shared.
 */
final class Entries {
  private static final int CHILDREN_MIN = 4; // The minimum for a node to be split.

  private final byte[] node;
  private int valueFrom;
  private int valueTo;

  /** Start and end of the current entry; after the last one both are the end of the node. */
  int start;

  int end;

  /** The count of a value, or the number of a page. */
  long number;

  private Entries(byte[] node, int from) {
    this.node = node;
    this.end = from;
  }

  /** Starts before the first entry. */
  static Entries of(byte[] node) {
    return new Entries(node, 1);
  }

  /** Starts at the entry at this offset. */
  static Entries from(byte[] node, int start) {
    Entries found = new Entries(node, start);
    found.next();
    return found;
  }

  static byte[] entry(byte[] value, long number) {
    return new Varints.Writer(value.length + 2 * Varints.BYTES_MAX)
        .value(value, 0, value.length)
        .number(number)
        .bytes();
  }

  /**
   * Returns the offset of the second half of a node; 0 if it has too few entries to be split. A
   * leaf is split by bytes, an inner node by children: with long bounds it could otherwise be split
   * into nodes with one child.
   */
  static int middle(byte[] node, boolean leaf) {
    int entries = 0;
    for (Entries all = of(node); all.next(); ) {
      entries++;
    }
    if (entries < (leaf ? 2 : CHILDREN_MIN)) {
      return 0;
    }
    Entries all = of(node);
    for (int seen = 0; leaf ? all.end < node.length / 2 : seen < entries / 2; seen++) {
      all.next();
    }
    return all.end < node.length ? all.end : all.start;
  }

  boolean next() {
    start = end;
    if (start == node.length) {
      return false;
    }
    Varints in = new Varints(node, start);
    int length = (int) in.next();
    valueFrom = in.at();
    valueTo = valueFrom + length;
    in.skip(length);
    number = in.next();
    end = in.at();
    return true;
  }

  boolean isPresent() {
    return start < node.length;
  }

  /** Advances to the first entry that is not below a value; returns true if it has that value. */
  boolean seek(byte[] value) {
    while (next()) {
      int order = compareTo(value);
      if (order >= 0) {
        return order == 0;
      }
    }
    return false;
  }

  int compareTo(byte[] value) {
    return Arrays.compareUnsigned(node, valueFrom, valueTo, value, 0, value.length);
  }

  byte[] value() {
    return Arrays.copyOfRange(node, valueFrom, valueTo);
  }
}
