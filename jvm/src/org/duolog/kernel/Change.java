package org.duolog.kernel;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * What one node hands to the next: a record of a stream, or a change of a table with its old value.
 *
 * <p>A node fills its own instance again and again, so a receiver neither keeps nor changes it. A
 * null key, value or old value is a null. Threads: not shared.
 */
final class Change {
  UnsafeRow key;
  UnsafeRow value;
  UnsafeRow old;
  long ts;

  Change set(UnsafeRow key, UnsafeRow value, UnsafeRow old, long ts) {
    this.key = key;
    this.value = value;
    this.old = old;
    this.ts = ts;
    return this;
  }
}
