package org.duolog.kernel.metrics;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How many rows and bytes a store has in a task, as {@code StoreSizes} has counted them last. Threads: any.
 */
public final class StoreCounts {
  private long rows;
  private long bytes;
  private long countedAt;

  /**
   * @param whole whether these are all rows, and not those that were seen so far
   * @param at when all of them were counted, in ms since 1970; 0 where that has not been yet
   */
  public synchronized void set(long rows, long bytes, boolean whole, long at) {
    if (whole) {
      this.rows = rows;
      this.bytes = bytes;
      countedAt = at;
    } else if (rows > this.rows) {
      // There are so many at least.
      this.rows = rows;
      this.bytes = bytes;
    }
  }

  /** As {@code {"rows", "bytes", "counted_at"}}, the last in ms since 1970, 0 as long as there are so many at least. */
  synchronized Map<String, Object> toJson() {
    Map<String, Object> found = new LinkedHashMap<>();
    found.put("rows", rows);
    found.put("bytes", bytes);
    found.put("counted_at", countedAt);
    return found;
  }
}
