import com.fasterxml.jackson.databind.JsonNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.apache.kafka.streams.kstream.Windows;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

/** Windows without a class in Kafka Streams: with an offset, or adjacent from given starts. */
final class CustomWindows extends Windows<TimeWindow> {
  private final JsonNode of;
  private final NavigableSet<Long> starts = new TreeSet<>();

  CustomWindows(JsonNode of) {
    this.of = of;
    if (of.has("starts")) {
      of.get("starts").forEach(start -> starts.add(start.asLong()));
    }
  }

  @Override
  public Map<Long, TimeWindow> windowsFor(long ts) {
    Map<Long, TimeWindow> found = new LinkedHashMap<>();
    if (!starts.isEmpty()) {
      long start = starts.floor(ts);
      found.put(start, new TimeWindow(start, starts.higher(start)));
      return found;
    }
    long size = of.get("size_ms").asLong();
    long offset = of.get("offset_ms").asLong();
    long advance = of.get("advance_ms").asLong();
    long first = Math.max(0, Math.floorDiv(ts - offset - size, advance) + 1);
    for (long start = offset + first * advance; start <= ts; start += advance) {
      found.put(start, new TimeWindow(start, start + size));
    }
    return found;
  }

  /** The length of the longest window, for which the store retains it. */
  @Override
  public long size() {
    if (starts.isEmpty()) {
      return of.get("size_ms").asLong();
    }
    long longest = 0;
    for (Long start : starts.headSet(starts.last())) {
      longest = Math.max(longest, starts.higher(start) - start);
    }
    return longest;
  }

  @Override
  public long gracePeriodMs() {
    return of.get("grace_ms").asLong();
  }
}
