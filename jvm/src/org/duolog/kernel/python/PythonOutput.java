package org.duolog.kernel.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Reader;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Buffers lines that Python functions print, until the process that started this JVM fetches them.
 * Lines beyond the limit are counted. Threads: any.
 */
public final class PythonOutput {
  private static final int WAITING_MAX = 10_000;
  private static final long CHARACTERS_MAX = 16 << 20;
  private static final int LINE_MAX = 100_000;
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static List<String> waiting = new ArrayList<>();
  private static long characters;
  private static long leftOut;

  private PythonOutput() {}

  /**
   * Printed lines, and the number of lines beyond the limit: sent from an executor to the driver.
   */
  record Printed(List<String> lines, long leftOut) implements Serializable {
    boolean isEmpty() {
      return lines.isEmpty() && leftOut == 0;
    }
  }

  /** Returns the lines printed in this JVM since the last call. */
  static synchronized Printed takeLines() {
    Printed taken = new Printed(waiting, leftOut);
    waiting = new ArrayList<>();
    characters = 0;
    leftOut = 0;
    return taken;
  }

  /** Adds lines printed in another JVM, or lines that could not be sent to the driver. */
  static synchronized void add(Printed printed) {
    printed.lines().forEach(PythonOutput::add);
    leftOut += printed.leftOut();
  }

  static synchronized void add(String line) {
    if (waiting.size() < WAITING_MAX && characters < CHARACTERS_MAX) {
      waiting.add(line);
      characters += line.length();
    } else {
      leftOut++;
    }
  }

  /**
   * Adds lines until the stream ends; of a line that is too long, and may never end, only the
   * beginning.
   */
  static void addAll(Reader output) throws IOException {
    StringBuilder line = new StringBuilder();
    long length = 0;
    for (int next; (next = output.read()) >= 0; ) {
      if (next == '\n') {
        add(told(line, length));
        line = new StringBuilder();
        length = 0;
      } else if (length++ < LINE_MAX) {
        line.append((char) next);
      }
    }
    if (length > 0) {
      add(told(line, length));
    }
  }

  private static String told(StringBuilder line, long length) {
    return length <= LINE_MAX ? line.toString() : line + "… (" + length + " characters)";
  }

  /** Returns the lines printed since the last call as JSON: {@code {"lines": [], "left_out"}}. */
  public static String take() {
    Printed taken = takeLines();
    try {
      return MAPPER.writeValueAsString(
          Map.of("lines", taken.lines(), "left_out", taken.leftOut()));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
