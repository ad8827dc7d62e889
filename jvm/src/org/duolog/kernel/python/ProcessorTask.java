package org.duolog.kernel.python;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.duolog.kernel.record.KafkaBytes;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.record.StoredRow;
import org.duolog.kernel.store.BucketStore;

/**
 * The processors of a task for one micro-batch or epoch: their process, and the times at which they
 * are due. The state of each processor holds what must survive a retry of the micro-batch:
 *
 * <pre>
 *   bucket 0, "schedules"  ->  stream time (8 bytes), the schedules of its init (JSON)
 *   bucket 0, "turn"       ->  the name of the last micro-batch or epoch, of all of them, that has
 *                              called it
 * </pre>
 *
 * <p>A task may return to a process after it has run elsewhere: in another JVM, or in an attempt
 * that was discarded. The processor continues there only if the process knows the last turn;
 * otherwise it is created again, as in a new process.
 *
 * <p>Threads: one at a time.
 */
public final class ProcessorTask {
  static final long NEVER = Long.MAX_VALUE;
  private static final long NO_TIME = -1;
  private static final byte[] SCHEDULES = "schedules".getBytes(StandardCharsets.UTF_8);
  private static final byte[] TURN = "turn".getBytes(StandardCharsets.UTF_8);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final ProcessorWorkers.Session session;
  private final boolean isAgain;
  private PythonWorker worker;

  /** True while the process has a request that it has not answered. */
  private boolean talks;

  private long streamTime = NO_TIME;

  /**
   * {@code isAgain}: the process of an earlier attempt must not be used, as its processors are
   * ahead of the state.
   */
  public ProcessorTask(ProcessorWorkers.Session session, boolean isAgain) {
    this.session = session;
    this.isAgain = isAgain;
  }

  /** One processor of the task. */
  public final class TaskProcessor {
    private final PythonFunction function;
    private final String node;
    private final BucketStore own;
    private final ProcessorStores stores;
    private PythonWorker startedIn;
    private List<ProcessorWire.Output> initOutputs = List.of();
    private String schedules;
    private final String lastTurn;
    private final String turn = UUID.randomUUID().toString();
    private boolean isTurnKept;
    private long writtenTime;
    private long nextStreamTime = NO_TIME;
    private long nextWallClock = NEVER;

    public TaskProcessor(
        PythonFunction function, String node, BucketStore own, ProcessorStores stores) {
      this.function = function;
      this.node = node;
      this.own = own;
      this.stores = stores;
      byte[] last = own.bytes(0, row(TURN));
      lastTurn =
          last == null
              ? ""
              : new String(StoredRow.row(last, 1).getBinary(0), StandardCharsets.UTF_8);
      byte[] kept = own.bytes(0, row(SCHEDULES));
      if (kept != null) {
        ByteBuffer bytes = ByteBuffer.wrap(StoredRow.row(kept, 1).getBinary(0));
        writtenTime = bytes.getLong();
        streamTime = Math.max(streamTime, writtenTime);
        schedules = StandardCharsets.UTF_8.decode(bytes).toString();
      } else {
        writtenTime = NO_TIME;
      }
    }

    /** Returns the stream time at which the processor is due next. */
    public long nextStreamTime() {
      return nextStreamTime;
    }

    public long nextWallClock() {
      return nextWallClock;
    }

    /**
     * Calls the processor with some items. If the process does not survive an item, its output is
     * an error.
     */
    public List<ProcessorWire.Output> call(List<ProcessorWire.Item> items) {
      try {
        begin("");
        return taken(checked(converse(PythonWorker.RUN, ProcessorWire.items(items))));
      } catch (PythonWorker.Lost lost) {
        lose();
        if (items.size() > 1) {
          List<ProcessorWire.Output> told = new ArrayList<>(items.size());
          for (ProcessorWire.Item item : items) {
            told.addAll(call(List.of(item)));
          }
          return told;
        }
        return List.of(lost(items.get(0), lost));
      }
    }

    /** Returns the output of an item that was lost; a lost point in time is skipped. */
    private ProcessorWire.Output lost(ProcessorWire.Item item, PythonWorker.Lost lost) {
      if (item.kind() != ProcessorWire.RECORD) {
        String kind = item.kind() == ProcessorWire.STREAM_TIME ? "stream time" : "wall clock";
        try {
          begin("{\"" + kind + "\":" + item.time() + "}");
        } catch (PythonWorker.Lost again) {
          lose();
          throw cannotBegin(again.getMessage());
        }
      }
      String what = PythonWorkers.failed(function, lost).error();
      return new ProcessorWire.Output(List.of(), List.of(what));
    }

    private byte[] converse(int kind, byte[] payload) throws PythonWorker.Lost {
      talks = true;
      byte[] reply = worker.converse(kind, function, payload, function.timeoutMs(), stores::answer);
      talks = false;
      return reply;
    }

    private void lose() {
      stores.takeBack();
      worker.kill();
      worker = null;
      talks = false;
    }

    private List<ProcessorWire.Output> taken(ByteBuffer reply) {
      ProcessorWire.Answer answer = ProcessorWire.answer(reply);
      stores.write(answer.rest());
      stores.done();
      String told = ProcessorWire.text(answer.rest());
      nextStreamTime = answer.rest().getLong();
      nextWallClock = answer.rest().getLong();
      boolean changed = !told.equals(schedules);
      schedules = told;
      if (changed) {
        keep();
      }
      return answer.told();
    }

    /** Creates the processor in a process, with its stored schedules. */
    public void begin() {
      try {
        begin("");
      } catch (PythonWorker.Lost lost) {
        lose();
        throw cannotBegin(PythonWorkers.failed(function, lost).error());
      }
    }

    public boolean hasStarted() {
      return worker != null && startedIn == worker;
    }

    private void begin(String lost) throws PythonWorker.Lost {
      if (hasStarted() && lost.isEmpty()) {
        return;
      }
      if (worker == null) {
        worker = ProcessorWorkers.take(session, function.command(), isAgain);
      }
      ObjectNode given = MAPPER.createObjectNode();
      given.put("session", session.run() + " " + session.task());
      given.put("last_turn", lastTurn);
      given.put("turn", turn);
      given.put("application", session.applicationId());
      given.put("task", session.task());
      given.put("node", node);
      given.put("stream_time", streamTime);
      given.put("wall_clock", KafkaBytes.DRIVEN_CLOCK.get());
      try {
        given.set("schedules", schedules == null ? null : MAPPER.readTree(schedules));
        given.set("lost", MAPPER.readTree(lost.isEmpty() ? "{}" : lost));
      } catch (JsonProcessingException e) {
        throw new IllegalStateException("the schedules of " + node + " cannot be read", e);
      }
      byte[] payload = given.toString().getBytes(StandardCharsets.UTF_8);
      ByteBuffer reply = checked(converse(PythonWorker.BEGIN, payload));
      startedIn = worker;
      initOutputs = taken(reply);
      if (!isTurnKept) {
        isTurnKept = true;
        own.put(0, row(TURN), row(turn.getBytes(StandardCharsets.UTF_8)), Math.max(0, streamTime));
      }
    }

    /** Returns what init has forwarded; empty after the first call. */
    public List<ProcessorWire.Output> takeInitOutputs() {
      List<ProcessorWire.Output> taken = initOutputs;
      initOutputs = List.of();
      return taken;
    }

    private ByteBuffer checked(byte[] reply) {
      ByteBuffer bytes = ByteBuffer.wrap(reply);
      if (bytes.get() != '+') {
        throw cannotBegin(StandardCharsets.UTF_8.decode(bytes).toString());
      }
      return bytes;
    }

    private RecordFailedException cannotBegin(String why) {
      return new RecordFailedException("processor " + node + " cannot begin: " + why, null);
    }

    /** Stores the time that the task has reached, if it has advanced. */
    public void settle() {
      if (streamTime != writtenTime) {
        keep();
      }
    }

    private void keep() {
      byte[] text = (schedules == null ? "[]" : schedules).getBytes(StandardCharsets.UTF_8);
      ByteBuffer kept = ByteBuffer.allocate(Long.BYTES + text.length);
      kept.putLong(streamTime).put(text);
      own.put(0, row(SCHEDULES), row(kept.array()), Math.max(0, streamTime));
      writtenTime = streamTime;
    }

    private static UnsafeRow row(byte[] bytes) {
      UnsafeRowWriter writer = new UnsafeRowWriter(1);
      writer.reset();
      writer.zeroOutNullBytes();
      writer.write(0, bytes);
      return writer.getRow().copy();
    }
  }

  /**
   * Returns true if an entry of a processor's own store with this key holds its stream time and
   * schedules.
   */
  public static boolean isSchedules(byte[] entryKey) {
    UnsafeRow key = new UnsafeRow(1);
    key.pointTo(entryKey, entryKey.length);
    return Arrays.equals(key.getBinary(0), SCHEDULES);
  }

  /** Advances stream time to the timestamp of a record. */
  public void observe(long ts) {
    streamTime = Math.max(streamTime, ts);
  }

  public long streamTime() {
    return streamTime;
  }

  /**
   * Returns the process to the pool until the task continues. A process that is ahead of the
   * committed state, or still has a request, is ended.
   */
  public void close(boolean failed) {
    if (worker != null) {
      if (failed || talks) {
        worker.kill();
      } else {
        ProcessorWorkers.give(session, worker);
      }
      worker = null;
    }
  }
}
