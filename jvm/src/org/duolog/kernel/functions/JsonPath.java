package org.duolog.kernel.functions;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A path from the root of a JSON value to a part of it.
 *
 * <pre>  $.orders[0].id      $["key with a ."]      $
 * </pre>
 */
final class JsonPath {
  private static final Pattern STEP =
      Pattern.compile(
          "\\.(?<name>[^.\\[]+)"
              + "|\\[(?<place>[^\\]\\[\"']+)\\]"
              + "|\\[\"(?<quoted>(?:[^\"\\\\]|\\\\.)*)\"\\]"
              + "|\\['(?<single>(?:[^'\\\\]|\\\\.)*)'\\]");

  private final List<String> steps = new ArrayList<>();

  JsonPath(String text) {
    Matcher matcher = STEP.matcher(text);
    int at = 1;
    while (at < text.length() && matcher.find(at) && matcher.start() == at) {
      steps.add(step(matcher));
      at = matcher.end();
    }
    if (!text.startsWith("$") || at < text.length()) {
      throw new IllegalArgumentException("invalid JSON path: " + text);
    }
  }

  private static String step(Matcher matcher) {
    for (String plain : List.of("name", "place")) {
      if (matcher.group(plain) != null) {
        return matcher.group(plain);
      }
    }
    String quoted = matcher.group("quoted");
    return (quoted != null ? quoted : matcher.group("single")).replaceAll("\\\\(.)", "$1");
  }

  /** Returns the node at the path, or null. Elements are counted from 0. */
  JsonNode in(JsonNode whole) {
    JsonNode found = whole;
    for (String step : steps) {
      if (found instanceof ArrayNode array) {
        found = place(step) < 0 ? null : array.get(place(step));
      } else {
        found = found.get(step);
      }
      if (found == null) {
        return null;
      }
    }
    return found;
  }

  private static int place(String step) {
    try {
      return Integer.parseInt(step);
    } catch (NumberFormatException e) {
      return -1;
    }
  }
}
