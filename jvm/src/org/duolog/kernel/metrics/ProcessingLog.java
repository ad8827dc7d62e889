package org.duolog.kernel.metrics;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.Origin;

/**
 * Entries of SQL's processing log about skipped records: a JSON object with one of five kinds of
 * message. It includes the record if {@link Origin} has its bytes: in Base64 if they cannot be
 * read, else the value as text.
 *
 * <p>Source: ksqlDB's processing log.
 */
final class ProcessingLog {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String[] KINDS = {
    "deserializationError",
    "recordProcessingError",
    "productionError",
    "serializationError",
    "kafkaStreamsThreadError"
  };

  private ProcessingLog() {}

  /** Creates the entry of a record that failed in a query. */
  static Envelope entry(
      String query,
      ErrorHandlers.Stage stage,
      Origin origin,
      String sourceTopic,
      byte[] encodedOrigin,
      String logTopic,
      String at,
      String what,
      Exception cause) {
    int kind = stage.ordinal();
    Map<String, Object> message = new LinkedHashMap<>();
    message.put("type", kind);
    for (int number = 0; number < KINDS.length; number++) {
      message.put(
          KINDS[number], number == kind ? fields(stage, origin, sourceTopic, what, cause) : null);
    }
    Map<String, Object> entry = new LinkedHashMap<>();
    entry.put("level", "ERROR");
    entry.put("logger", "processing." + query + (at.isEmpty() ? ".source" : "." + at));
    entry.put("time", System.currentTimeMillis());
    entry.put("message", message);
    return Envelope.toSink(
        0,
        null,
        bytes(entry),
        DeadLetter.timeOf(origin),
        Headers.encode(new ArrayList<>()),
        encodedOrigin,
        UTF8String.fromString(logTopic),
        Envelope.ANY_PARTITION);
  }

  private static Map<String, Object> fields(
      ErrorHandlers.Stage stage, Origin origin, String sourceTopic, String what, Exception cause) {
    Map<String, Object> told = new LinkedHashMap<>();
    switch (stage) {
      case DESERIALIZATION -> {
        boolean ofKey = String.valueOf(cause.getMessage()).startsWith("its key");
        byte[] unread = ofKey ? origin.key() : origin.value();
        told.put("target", ofKey ? "key" : "value");
        told.put("errorMessage", what);
        told.put("recordB64", unread == null ? null : Base64.getEncoder().encodeToString(unread));
        told.put("cause", causes(cause));
        told.put("topic", sourceTopic);
      }
      case PROCESSING -> {
        told.put("errorMessage", what);
        byte[] read = origin.value();
        told.put("record", read == null ? null : new String(read, StandardCharsets.UTF_8));
        told.put("cause", causes(cause));
      }
      default -> told.put("errorMessage", what);
    }
    return told;
  }

  private static List<String> causes(Throwable cause) {
    List<String> causes = new ArrayList<>();
    for (Throwable next = cause; next != null && causes.size() < 10; next = next.getCause()) {
      causes.add(String.valueOf(next.getMessage()));
    }
    return causes;
  }

  private static byte[] bytes(Map<String, Object> entry) {
    try {
      return MAPPER.writeValueAsString(entry).getBytes(StandardCharsets.UTF_8);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }
}
