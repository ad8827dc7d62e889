package org.duolog.kernel.python;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.TTLConfig;
import org.duolog.kernel.MemoryHandle;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.KafkaBytes;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.store.BucketStore;

/**
 * The kernel's side of conversations with a worker, whose side is played back from a file.
 *
 * <p>Argument: a directory with {@code processor replies} and {@code function replies}, and the
 * bodies that define them in {@code processor} and {@code function}. The requests are written
 * there. Prints what the kernel has read.
 */
public final class WorkerFormats {
  private static final Grouping GROUPING = new Grouping(1, 1, 1);
  private static final long TASK = GROUPING.of(0, 0);
  private static final long TIMEOUT_MS = 60_000;

  /** A time that does not fit into four bytes. */
  private static final long T = 1_767_225_600_000L;

  private final Path directory;
  private final MemoryHandle handle = new MemoryHandle();

  private WorkerFormats(Path directory) {
    this.directory = directory;
  }

  public static void main(String[] arguments) throws Exception {
    var formats = new WorkerFormats(Path.of(arguments[0]));
    formats.converseWithProcessor();
    formats.callFunction();
  }

  private void converseWithProcessor() throws Exception {
    handle.select(TASK);
    BucketStore said = store("said");
    PythonFunction function = function("processor");
    var session = new ProcessorWorkers.Session("app", "run-1", "0_0");
    var task = new ProcessorTask(session, false);
    task.observe(T + 5);
    KafkaBytes.DRIVEN_CLOCK.set(T);
    var processor =
        task.new TaskProcessor(
            function, "PROCESSOR-1", store("own"), new ProcessorStores(Map.of("said", said)));
    processor.call(items()).forEach(WorkerFormats::print);
    boolean isNever = processor.nextWallClock() == ProcessorTask.NEVER;
    print("next", processor.nextStreamTime(), isNever);
    said.scan(
        1, (key, row, ts) -> print("row", text(key.getBinary(0)), ts, text(row.getBinary(0))));
    task.close(false);
    ProcessorWorkers.endAll();
  }

  private static List<ProcessorWire.Item> items() {
    var headers = new Headers.Writer();
    headers.add("h", bytes("v"));
    headers.add("n", null);
    UnsafeRow row = new UnsafeRow(1);
    Change whole = new Change().set(row, row, null, T + 1000, 0, headers.bytes());
    Change deletion = new Change().set(row, null, null, T + 900, 0, null);
    byte[] topic = bytes("in");
    byte[] columns = bytes("{\"a0\":\"a\",\"a1\":\"x\"}");
    byte[] ofKey = bytes("{\"a0\":\"a\"}");
    return List.of(
        ProcessorWire.Item.record(T + 1000, whole, 2, 1L << 32, topic, columns),
        ProcessorWire.Item.record(T + 1000, deletion, 2, (1L << 32) + 1, topic, ofKey),
        ProcessorWire.Item.time(ProcessorWire.STREAM_TIME, T + 1000, T + 1010),
        ProcessorWire.Item.time(ProcessorWire.WALL_CLOCK, T + 1000, T));
  }

  private static void print(ProcessorWire.Output output) {
    for (ProcessorWire.Forwarded one : output.forwarded()) {
      print("forwarded", one.output(), one.ts(), text(one.key()), text(one.value()));
      Headers.decode(one.headers())
          .forEach(header -> print("header", header.key(), text(header.value())));
    }
    output.errors().forEach(error -> print("error", error));
    print("end");
  }

  private void callFunction() throws Exception {
    PythonFunction function = function("function");
    var worker = new PythonWorker(function.command());
    List<byte[]> rows =
        List.of(bytes("{\"a0\":-3}"), bytes("{\"a0\":null}"), bytes("{\"a0\":\"x\"}"));
    for (PythonWorkers.Answer answer : worker.call(function, rows)) {
      if (answer.error() == null) {
        print("result", text(answer.result()));
      } else {
        print("error", answer.error());
      }
    }
    print("worn", worker.isWorn());
    worker.end();
    worker.awaitEnd();
  }

  private BucketStore store(String name) {
    var store = new BucketStore(name, 1, ProcessorStores.COLUMNS, GROUPING);
    store.attach(handle.getMapState(name, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE()));
    store.select(TASK);
    return store;
  }

  /** Returns a function whose worker plays back its replies, and stores the requests. */
  private PythonFunction function(String name) throws Exception {
    String playBack = "cat \"$1 replies\"; exec cat > \"$1 requests\"";
    List<String> line = List.of("sh", "-c", playBack, "sh", name);
    var command = new Spec.WorkerCommand(line, directory.toString(), Map.of());
    byte[] body = Files.readAllBytes(directory.resolve(name));
    return new PythonFunction(name, name, null, body, command, TIMEOUT_MS, 0);
  }

  private static void print(Object... words) {
    System.out.println(
        Arrays.stream(words).map(String::valueOf).collect(Collectors.joining(" ")));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return bytes == null ? "null" : new String(bytes, StandardCharsets.UTF_8);
  }
}
