package org.duolog.kernel.functions.format.protobuf;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The fields of a message by their numbers, for descriptors: numbers, and bytes that are texts or
 * messages. Other values are left out. Threads: not shared.
 */
final class RawMessage {
  private final Map<Integer, Long> numbers = new HashMap<>();
  private final Map<Integer, List<byte[]>> values = new HashMap<>();
  private final Map<Integer, List<Long>> repeated = new HashMap<>();

  RawMessage(byte[] bytes) {
    WireInput in = new WireInput(bytes, 0);
    while (!in.isAtEnd()) {
      int tag = in.tag();
      int number = tag >>> WireInput.TYPE_BITS;
      switch (tag & WireInput.TYPE_MASK) {
        case WireInput.VARINT -> {
          long value = in.varint();
          numbers.put(number, value);
          repeated.computeIfAbsent(number, any -> new ArrayList<>()).add(value);
        }
        case WireInput.BYTES ->
            values.computeIfAbsent(number, any -> new ArrayList<>()).add(in.bytes());
        default -> in.skip(tag);
      }
    }
  }

  boolean has(int number) {
    return numbers.containsKey(number) || values.containsKey(number);
  }

  /** Returns a number; zero if there is none. */
  long number(int number) {
    return numbers.getOrDefault(number, 0L);
  }

  boolean flag(int number) {
    return number(number) != 0;
  }

  /** Returns the numbers of a field that is not packed. */
  List<Long> numbers(int number) {
    return repeated.getOrDefault(number, List.of());
  }

  /** Returns a text; empty if there is none. */
  String text(int number) {
    List<String> all = texts(number);
    return all.isEmpty() ? "" : all.get(all.size() - 1);
  }

  List<String> texts(int number) {
    return values.getOrDefault(number, List.of()).stream()
        .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
        .toList();
  }

  /** Returns a message; null if there is none. */
  RawMessage message(int number) {
    List<byte[]> all = values.getOrDefault(number, List.of());
    return all.isEmpty() ? null : new RawMessage(joined(all));
  }

  List<RawMessage> messages(int number) {
    return values.getOrDefault(number, List.of()).stream().map(RawMessage::new).toList();
  }

  /** A message that is given in parts is the one whose bytes are those of all parts. */
  private static byte[] joined(List<byte[]> parts) {
    byte[] all = new byte[parts.stream().mapToInt(part -> part.length).sum()];
    int at = 0;
    for (byte[] part : parts) {
      System.arraycopy(part, 0, all, at, part.length);
      at += part.length;
    }
    return all;
  }
}
