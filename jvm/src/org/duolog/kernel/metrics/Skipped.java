package org.duolog.kernel.metrics;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Skipped records, counted by reason; the first record of each reason is kept.
 *
 * <p>Reasons that differ only in numbers count as one. There are at most {@value #REASONS_MAX};
 * further reasons are counted by stage only. Threads: any.
 */
final class Skipped {
  private static final int REASONS_MAX = 20;
  private static final int TEXT_BYTES = 100;
  private static final int HEX_BYTES = 32;

  private final Map<String, Kind> kinds = new LinkedHashMap<>();

  /**
   * A skipped record.
   *
   * @param topic the topic that it comes from; null if unknown
   * @param at the node or topic where it failed; empty if the stage is enough
   * @param key as {@link #text} renders it, as is the value; null if not available
   */
  record Sample(
      String stage,
      String topic,
      int partition,
      long offset,
      String key,
      String value,
      String at,
      String reason) {

    private String kind() {
      return String.join("\n", stage, topic, at, reason.replaceAll("\\d+", "#"));
    }
  }

  /** A kind of failure: its first record, and the number of records. */
  record Kind(Sample first, long count) {}

  void add(Sample sample) {
    add(sample, 1);
  }

  /** Adds a number of records with one reason, of which the sample is the first. */
  synchronized void add(Sample sample, long count) {
    String kind = sample.kind();
    if (kinds.size() >= REASONS_MAX && !kinds.containsKey(kind)) {
      kind = sample.stage();
    }
    kinds.merge(
        kind, new Kind(sample, count), (old, one) -> new Kind(old.first(), old.count() + count));
  }

  /** Renders the kinds in the order of their first records. */
  synchronized List<Map<String, Object>> toJson() {
    List<Map<String, Object>> found = new ArrayList<>();
    kinds.forEach(
        (kind, of) -> {
          Sample first = of.first();
          Map<String, Object> one = new LinkedHashMap<>();
          one.put("stage", first.stage());
          one.put("reason", kind.equals(first.stage()) ? "other reasons" : first.reason());
          one.put("at", first.at());
          one.put("count", of.count());
          one.put("topic", first.topic());
          one.put("partition", first.partition());
          one.put("offset", first.offset());
          one.put("key", first.key());
          one.put("value", first.value());
          found.add(one);
        });
    return found;
  }

  /** Renders the first bytes: as text if they are text, else in hexadecimal digits. */
  static String text(byte[] bytes) {
    if (bytes == null) {
      return null;
    }
    CharsetDecoder utf8 =
        StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT);
    int length = Math.min(bytes.length, TEXT_BYTES);
    CharBuffer text = CharBuffer.allocate(length);
    boolean cut = length < bytes.length;
    // A character that is cut at the end is left out.
    boolean bad = utf8.decode(ByteBuffer.wrap(bytes, 0, length), text, !cut).isError();
    String found = text.flip().toString();
    if (bad
        || found.chars().anyMatch(c -> Character.isISOControl(c) && !Character.isWhitespace(c))) {
      length = Math.min(bytes.length, HEX_BYTES);
      found = "0x" + HexFormat.of().formatHex(bytes, 0, length);
      cut = length < bytes.length;
    }
    return found.replaceAll("\\s+", " ") + (cut ? "…" : "");
  }
}
