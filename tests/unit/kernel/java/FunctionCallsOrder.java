package org.duolog.kernel.python;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.duolog.kernel.metrics.ErrorHandlers;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.spec.Spec;

/**
 * Passes MANY records of two tasks to functions, and processes them as the process does.
 *
 * <p>Prints how many of a task's records were out of order, whether its end waited for the last call, whether a failed
 * call left a dead letter, and whether more records were accepted than had been processed.
 */
public final class FunctionCallsOrder {
  private static final String APPLICATION = "a";

  private FunctionCallsOrder() {}

  public static void main(String[] args) throws Exception {
    int many = Integer.parseInt(args[0]);
    Spec spec =
        Spec.parse(
            "{\"application_id\": \"a\", \"tasks\": 1, \"shuffle_partitions\": 1,"
                + "\"sources\": [{\"id\": 0, \"topic\": \"orders\"}],"
                + "\"errors\": {\"processing\": \"log_and_continue\", \"dead_letter_topic\": \"dead\"}}");
    ErrorHandlers handlers = new ErrorHandlers(spec);
    Calls calls = Calls.of(APPLICATION);
    Calls.Task[] tasks = {new Calls.Task(handlers), new Calls.Task(handlers)};
    CountDownLatch handed = new CountDownLatch(tasks.length);
    CountDownLatch ended = new CountDownLatch(tasks.length);
    for (Calls.Task task : tasks) {
      int partition = task == tasks[0] ? 0 : 1;
      start(
          () -> {
            for (int i = 0; i < many; i++) {
              calls.hand(task, "for-each-2", record(handlers, partition, i));
            }
            handed.countDown();
            calls.await(task);
            ended.countDown();
          });
    }
    boolean bounded = !handed.await(200, TimeUnit.MILLISECONDS);
    int disordered = call(many * tasks.length - 1);
    String last = Calls.take(APPLICATION, 10, 5_000);
    boolean waited = !ended.await(200, TimeUnit.MILLISECONDS);
    Calls.failed(APPLICATION, many * tasks.length - 1L, "ValueError: no");
    boolean over = ended.await(5, TimeUnit.SECONDS);
    boolean dead = false;
    for (Calls.Task task : tasks) {
      dead |= calls.deadLetter(task) != null;
    }
    System.out.println(disordered);
    System.out.println(waited && over && last.contains("\"orders\"") ? "waited" : "did-not-wait");
    System.out.println(dead ? "dead-letter" : "nothing");
    System.out.println(bounded ? "bounded" : "unbounded");
  }

  private static void start(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
  }

  /** Processes {@code count} records; returns how many followed a later record of their task. */
  private static int call(int count) throws Exception {
    long[] next = new long[2];
    int disordered = 0;
    for (int called = 0; called < count; ) {
      var taken =
          new com.fasterxml.jackson.databind.ObjectMapper()
              .readTree(Calls.take(APPLICATION, Math.min(500, count - called), 5_000));
      for (var record : taken) {
        int partition = record.get(6).asInt();
        disordered += record.get(7).asLong() == next[partition]++ ? 0 : 1;
        called++;
      }
      Calls.done(APPLICATION, called - 1L);
    }
    return disordered;
  }

  private static Envelope record(ErrorHandlers handlers, int partition, int offset) {
    byte[] key = "{\"id\":\"a\"}".getBytes();
    byte[] value = ("{\"n\":" + offset + "}").getBytes();
    SourceRecord record = new SourceRecord(key, value, partition, offset, 0, null);
    byte[] origin = handlers.originOf(0, record);
    return Envelope.toSink(0, key, value, 0, null, origin, null, Envelope.ANY_PARTITION);
  }
}
