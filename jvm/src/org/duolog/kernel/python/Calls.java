package org.duolog.kernel.python;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.header.Header;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.record.CallFailedException;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.Origin;

/**
 * Records that tasks of this JVM hand to functions of the process that started the query.
 *
 * <pre>  task: hand … await      the process: take, call each, done | failed
 * </pre>
 *
 * <p>A task waits until its records were called before its micro-batch or epoch ends, so that each is
 * called at least once; and it waits to hand one over while many are on their way. Records of one task are
 * called in their order. Of a record that is passed over because its function has failed the task gets the
 * dead letter; where the query is to fail, the process stops it.
 *
 * <p>Threads: any.
 */
public final class Calls {
  private static final int WAITING_MAX = 5_000;
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final Map<String, Calls> BY_APPLICATION = new ConcurrentHashMap<>();

  private final Deque<Call> waiting = new ArrayDeque<>();
  private final Deque<Call> taken = new ArrayDeque<>();
  private long next;

  private record Call(long number, Task task, String name, String topic, Envelope record) {}

  /** A writing task: how many of its records are on their way, and what has become of some. */
  public static final class Task {
    private final ErrorHandlers handlers;
    private final Deque<Envelope> deadLetters = new ArrayDeque<>();
    private int pending;

    public Task(ErrorHandlers handlers) {
      this.handlers = handlers;
    }
  }

  private Calls() {}

  public static Calls of(String applicationId) {
    return BY_APPLICATION.computeIfAbsent(applicationId, unused -> new Calls());
  }

  /** Hands a record over to the function of this name; waits while there is no room. */
  public synchronized void hand(Task task, String name, Envelope record) {
    while (waiting.size() >= WAITING_MAX) {
      sleep();
    }
    String topic = task.handlers.topicOf(Origin.source(record.origin()));
    waiting.add(new Call(next++, task, name, topic, record));
    task.pending++;
    notifyAll();
  }

  /** A dead letter of a record of the task; null where there is none now. */
  public synchronized Envelope deadLetter(Task task) {
    return task.deadLetters.poll();
  }

  /** Waits until each record of the task was called. */
  public synchronized void await(Task task) {
    while (task.pending > 0) {
      sleep();
    }
  }

  private void sleep() {
    try {
      wait();
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("stopped while records wait to be called", stopping);
    }
  }

  /**
   * The next records to call, as JSON; waits up to {@code waitMs} for the first one. {@code
   * [[number, name, ts, key, value, topic, partition, offset, [[header, value], …]], …]}: key and value are
   * texts of JSON or null, values of headers base64 or null.
   */
  public static String take(String applicationId, int max, long waitMs) {
    return of(applicationId).take(max, waitMs);
  }

  private synchronized String take(int max, long waitMs) {
    Arrivals.await(this, waiting, waitMs);
    StringWriter text = new StringWriter();
    try (JsonGenerator json = MAPPER.createGenerator(text)) {
      json.writeStartArray();
      for (int count = 0; count < max && !waiting.isEmpty(); count++) {
        Call call = waiting.poll();
        taken.add(call);
        write(json, call);
      }
      json.writeEndArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    notifyAll();
    return text.toString();
  }

  private static void write(JsonGenerator json, Call call) throws IOException {
    Envelope record = call.record;
    byte[] origin = record.origin();
    json.writeStartArray();
    json.writeNumber(call.number);
    json.writeString(call.name);
    json.writeNumber(record.ts());
    json.writeString(text(record.key()));
    json.writeString(text(record.value()));
    json.writeString(call.topic);
    json.writeNumber(Origin.partition(origin));
    json.writeNumber(Origin.offset(origin));
    json.writeStartArray();
    byte[] headers = record.headers();
    if (headers != null) {
      for (Header header : Headers.decode(headers)) {
        json.writeStartArray();
        json.writeString(header.key());
        if (header.value() == null) {
          json.writeNull();
        } else {
          json.writeBinary(header.value());
        }
        json.writeEndArray();
      }
    }
    json.writeEndArray();
    json.writeEndArray();
  }

  private static String text(byte[] json) {
    return json == null ? null : new String(json, StandardCharsets.UTF_8);
  }

  /** The records up to this number were called. */
  public static void done(String applicationId, long number) {
    of(applicationId).done(number);
  }

  private synchronized void done(long number) {
    while (!taken.isEmpty() && taken.peek().number <= number) {
      taken.poll().task.pending--;
    }
    notifyAll();
  }

  /** The function failed for the record of this number, which is passed over; those before it are done. */
  public static void failed(String applicationId, long number, String error) {
    of(applicationId).failed(number, error);
  }

  private synchronized void failed(long number, String error) {
    done(number - 1);
    Call call = taken.peek();
    if (call != null && call.number == number) {
      Envelope record = call.record;
      Envelope deadLetter =
          call.task.handlers.handle(
              ErrorHandlers.Stage.PROCESSING,
              record.origin(),
              null,
              record.headers(),
              call.name,
              new CallFailedException(error));
      if (deadLetter != null) {
        call.task.deadLetters.add(deadLetter);
      }
    }
    done(number);
  }

  /** Starts anew: what tasks of an earlier query have handed over is not called any more. */
  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }
}
