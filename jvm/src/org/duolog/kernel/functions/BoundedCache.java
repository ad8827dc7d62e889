package org.duolog.kernel.functions;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/**
 * Caches values that were created from texts: patterns and paths. Most texts come from the
 * statement, and few from records; beyond a limit the cache is cleared. Threads: any.
 */
final class BoundedCache<V> {
  private static final int MAX = 1000;

  private final Map<String, V> made = new ConcurrentHashMap<>();
  private final Function<String, V> make;

  BoundedCache(Function<String, V> make) {
    this.make = make;
  }

  V of(String text) {
    V found = made.get(text);
    if (found == null) {
      found = make.apply(text);
      if (made.size() >= MAX) {
        made.clear();
      }
      made.put(text, found);
    }
    return found;
  }
}
