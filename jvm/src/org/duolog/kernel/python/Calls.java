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
 * Records that tasks of this JVM pass to functions of the process that started the query.
 *
 * <pre>  task: hand … await      the process: take, call each, done | failed
 * </pre>
 *
 * <p>A task waits until its records have been processed before its micro-batch or epoch ends, so
 * each is processed at least once. It also waits to pass a record on while many are in progress.
 * Records of one task are processed in order. If a function fails, the record is skipped and its
 * task gets the dead letter; if the query is to fail, the process stops it.
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

  /** A writing task: the number of its records in progress, and the dead letters of some. */
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

  /** Passes a record to the function of this name; waits while the queue is full. */
  public synchronized void hand(Task task, String name, Envelope record) {
    while (waiting.size() >= WAITING_MAX) {
      sleep();
    }
    String topic = task.handlers.topicOf(Origin.source(record.origin()));
    waiting.add(new Call(next++, task, name, topic, record));
    task.pending++;
    notifyAll();
  }

  /** Returns a dead letter of a record of the task; null if there is none at the moment. */
  public synchronized Envelope deadLetter(Task task) {
    return task.deadLetters.poll();
  }

  /** Waits until all records of the task have been processed. */
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
      throw new IllegalStateException("interrupted while records wait for functions", stopping);
    }
  }

  /**
   * Returns the next records to process as JSON; waits up to {@code waitMs} for the first one.
   * {@code [[number, name, ts, key, value, topic, partition, offset, [[header, value], …]], …]}:
   * key and value are JSON texts or null, values of headers are base64 or null.
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

  /** Reports that the records up to this number have been processed. */
  public static void done(String applicationId, long number) {
    of(applicationId).done(number);
  }

  private synchronized void done(long number) {
    while (!taken.isEmpty() && taken.peek().number <= number) {
      taken.poll().task.pending--;
    }
    notifyAll();
  }

  /**
   * Reports that the function failed for the record of this number, which is skipped; those before
   * it are done.
   */
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

  /** Discards records that tasks of an earlier query have passed on. */
  public static void reset(String applicationId) {
    BY_APPLICATION.remove(applicationId);
  }
}
