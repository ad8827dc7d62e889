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
 * The processors of a task, for one micro-batch or epoch: the process that has them, and when they want to be called by
 * time. What must be the same when a micro-batch runs again is in the state of each processor:
 *
 * <pre>
 *   bucket 0, "schedules"  ->  stream time (8 bytes), the schedules of its init (JSON)
 *   bucket 0, "turn"       ->  the name of the last micro-batch or epoch, of all of them, that has called it
 * </pre>
 *
 * <p>A task may have been elsewhere, in another JVM or in an attempt that does not count, and come back to a process. There
 * the processor goes on only if it knows the last turn; else it is made anew, as in a new process.
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

  /** Whether the process was asked something and has not answered. */
  private boolean talks;

  private long streamTime = NO_TIME;

  /** {@code isAgain}: the process of an attempt before it is not to be had, as its processors are ahead of the state. */
  public ProcessorTask(ProcessorWorkers.Session session, boolean isAgain) {
    this.session = session;
    this.isAgain = isAgain;
  }

  /** What a processor of the task has come to. */
  public final class Of {
    private final PythonFunction function;
    private final String node;
    private final BucketStore own;
    private final ProcessorStores stores;
    private PythonWorker begunIn;
    private List<ProcessorWire.Output> begun = List.of();
    private String schedules;
    private final String lastTurn;
    private final String turn = UUID.randomUUID().toString();
    private boolean isTurnKept;
    private long writtenTime;
    private long nextStreamTime = NO_TIME;
    private long nextWallClock = NEVER;

    public Of(PythonFunction function, String node, BucketStore own, ProcessorStores stores) {
      this.function = function;
      this.node = node;
      this.own = own;
      this.stores = stores;
      byte[] last = own.bytes(0, row(TURN));
      lastTurn =
          last == null ? "" : new String(StoredRow.row(last, 1).getBinary(0), StandardCharsets.UTF_8);
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

    /** When stream time is to be told next. */
    public long nextStreamTime() {
      return nextStreamTime;
    }

    public long nextWallClock() {
      return nextWallClock;
    }

    /** Calls it with some items; one that its process does not survive is told of. */
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

    /** What is told of an item that was lost; a time that was is left behind. */
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

    /** Has it in a process, with schedules as they were kept. */
    public void begin() {
      try {
        begin("");
      } catch (PythonWorker.Lost lost) {
        lose();
        throw cannotBegin(PythonWorkers.failed(function, lost).error());
      }
    }

    public boolean hasBegun() {
      return worker != null && begunIn == worker;
    }

    private void begin(String lost) throws PythonWorker.Lost {
      if (hasBegun() && lost.isEmpty()) {
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
      begunIn = worker;
      begun = taken(reply);
      if (!isTurnKept) {
        isTurnKept = true;
        own.put(0, row(TURN), row(turn.getBytes(StandardCharsets.UTF_8)), Math.max(0, streamTime));
      }
    }

    /** What init has forwarded, once. */
    public List<ProcessorWire.Output> takeBegun() {
      List<ProcessorWire.Output> taken = begun;
      begun = List.of();
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

    /** Keeps what the task has seen of time, if that has moved on. */
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

  /** Whether an entry of a processor's own store, of this key, is its stream time and schedules. */
  public static boolean isSchedules(byte[] entryKey) {
    UnsafeRow key = new UnsafeRow(1);
    key.pointTo(entryKey, entryKey.length);
    return Arrays.equals(key.getBinary(0), SCHEDULES);
  }

  /** A record of this time has come to the task. */
  public void observe(long ts) {
    streamTime = Math.max(streamTime, ts);
  }

  public long streamTime() {
    return streamTime;
  }

  /** Gives the process back, until the task goes on; one that is ahead of what is committed, or still talks, ends. */
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
