package org.duolog.kernel.metrics;

import java.util.LinkedHashMap;
import java.util.Map;

/** The last count of a store's rows and bytes in a task ({@code StoreSizes}). Threads: any. */
public final class StoreCounts {
  private long rows;
  private long bytes;
  private long countedAt;

  /**
   * @param whole true if these are all rows, false if only those seen so far
   * @param at when the count was completed, in ms since 1970; 0 if it has never been
   */
  public synchronized void set(long rows, long bytes, boolean whole, long at) {
    if (whole) {
      this.rows = rows;
      this.bytes = bytes;
      countedAt = at;
    } else if (rows > this.rows) {
      // A lower bound.
      this.rows = rows;
      this.bytes = bytes;
    }
  }

  /**
   * Renders {@code {"rows", "bytes", "counted_at"}}; the last is in ms since 1970, and 0 while the
   * counts are lower bounds.
   */
  synchronized Map<String, Object> toJson() {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("rows", rows);
    found.put("bytes", bytes);
    found.put("counted_at", countedAt);
    return found;
  }
}
