package org.duolog.kernel.metrics;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.ExceptionNames;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.Origin;

/**
 * The dead letter of a skipped record: its bytes as they were read, with headers for its origin and
 * the error.
 *
 * <p>With these headers it may exceed the size limit of its topic. Then the value is left out; if
 * that is not enough, everything except the headers about the error. A header says what was left
 * out. Source: Kafka Streams' dead letters (KIP-1034), which fail if they are too large.
 */
public final class DeadLetter {
  private static final String HEADER = "__streams.errors.";
  private static final String APPLICATION = "__duolog.errors.application";
  private static final String STACK_TRACE = HEADER + "stacktrace";
  private static final int TEXT_MAX = 8192;
  private static final Header VALUE_LEFT_OUT = leftOut("value");
  private static final Header ALL_LEFT_OUT = leftOut("key, value, headers, stacktrace");

  private DeadLetter() {}

  /**
   * Creates the dead letter of a record.
   *
   * @param application the id of the application that skipped it; for a SQL query, its id
   * @param headers the record's own headers, which precede those about the error
   */
  static Envelope of(
      String application,
      Origin origin,
      String sourceTopic,
      byte[] headers,
      byte[] encodedOrigin,
      String topic,
      Exception cause) {
    List<Header> all = Headers.decode(headers);
    all.add(header("exception", ExceptionNames.of(cause)));
    all.add(header("message", cut(cause.getMessage())));
    all.add(header("stacktrace", stackTrace(cause)));
    all.add(header("topic", sourceTopic));
    all.add(header("partition", String.valueOf(origin.partition())));
    all.add(header("offset", String.valueOf(origin.offset())));
    all.add(plain(APPLICATION, application));
    long ts = timeOf(origin);
    if (ts != origin.ts()) {
      all.add(plain("__duolog.errors.timestamp", String.valueOf(origin.ts())));
    }
    return letter(topic, encodedOrigin, ts, origin.key(), origin.value(), all);
  }

  /**
   * Returns the record's timestamp, or the nearest that a topic accepts if it is negative or ahead
   * of the clock.
   */
  static long timeOf(Origin origin) {
    return Math.max(0, Math.min(origin.ts(), System.currentTimeMillis()));
  }

  /**
   * Returns the next smaller form of a dead letter that its topic has rejected; null if there is
   * none.
   */
  public static Envelope smaller(Envelope letter) {
    List<Header> headers = Headers.decode(letter.headers());
    if (headers.contains(ALL_LEFT_OUT)) {
      return null;
    }
    byte[] key = letter.key();
    if (letter.value() != null) {
      headers.add(VALUE_LEFT_OUT);
    } else {
      key = null;
      headers.removeIf(header -> !isAboutError(header));
      headers.add(ALL_LEFT_OUT);
    }
    return letter(
        letter.topic(), letter.origin(), letter.ts(), key, null, headers);
  }

  private static boolean isAboutError(Header header) {
    String name = header.key();
    return name.equals(APPLICATION) || name.startsWith(HEADER) && !name.equals(STACK_TRACE);
  }

  private static Envelope letter(
      String topic, byte[] origin, long ts, byte[] key, byte[] value, List<Header> headers) {
    return Envelope.toSink(
        0,
        key,
        value,
        ts,
        Headers.encode(headers),
        origin,
        UTF8String.fromString(topic),
        Envelope.ANY_PARTITION);
  }

  private static Header header(String name, String value) {
    return plain(HEADER + name, value);
  }

  private static Header leftOut(String what) {
    return plain("__duolog.errors.left.out", what);
  }

  private static Header plain(String name, String value) {
    return new RecordHeader(name, value == null ? null : value.getBytes(StandardCharsets.UTF_8));
  }

  private static String stackTrace(Exception cause) {
    StringWriter text = new StringWriter();
    cause.printStackTrace(new PrintWriter(text, true));
    return cut(text.toString());
  }

  private static String cut(String text) {
    return text == null || text.length() <= TEXT_MAX ? text : text.substring(0, TEXT_MAX);
  }
}
