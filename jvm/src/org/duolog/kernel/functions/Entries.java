package org.duolog.kernel.functions;

import java.util.Arrays;

/**
 * The entries of a node of a {@link Multiset}, one after the other: a value, and a number.
 *
 * <p>Threads: not shared.
 */
final class Entries {
  private static final int CHILDREN_MIN = 4; // Of a node that is parted.

  private final byte[] node;
  private int valueFrom;
  private int valueTo;

  /** Where the entry begins and ends; behind the last one both are the node's end. */
  int start;

  int end;

  /** How often the value is there, or which page is meant. */
  long number;

  private Entries(byte[] node, int from) {
    this.node = node;
    this.end = from;
  }

  /** Before the first entry. */
  static Entries of(byte[] node) {
    return new Entries(node, 1);
  }

  /** At the entry that begins there. */
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
   * Where the second half of a node begins; 0 where it has too few entries for two. The bytes of a leaf are
   * halved, the children of another one: where bounds are long, it must not part into ones of one child.
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

  boolean isThere() {
    return start < node.length;
  }

  /** Goes on to the first entry that is not below a value, and tells whether it is that value. */
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
