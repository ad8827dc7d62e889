package org.duolog.kernel.python;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.spec.Spec;

/**
 * A Python process that calls functions until its standard input is closed.
 *
 * <pre>
 *   request: kind (1 define, 2 call, 3 begin, 4 run, 5 answer), number of the function, length:
 *            4 bytes each, big-endian; body, or rows of JSON; for processors see
 *            {@link ProcessorWire}
 *     reply: length, 4 bytes; a line for each row: + and JSON, - and an error, or ~ and the reason
 *            for a null
 *            or a length of -1: another row is done; of -2: a question follows, which waits for its
 *            answer; of -3: some of its threads hang, so it must be replaced after this reply
 * </pre>
 *
 * <p>Threads: one at a time.
 */
final class PythonWorker {
  private static final int DEFINE = 1;
  private static final int CALL = 2;
  static final int BEGIN = 3;
  static final int RUN = 4;
  private static final int ANSWER = 5;
  private static final int A_QUESTION = -2;
  private static final int WORN = -3;
  private static final Reply ENDED = new Reply(new byte[0], false);
  private static final Reply PROGRESS = new Reply(new byte[0], false);

  /**
   * A larger reply is refused: its bytes, its text and its rows must fit into memory together, for
   * several tasks.
   */
  private static final int REPLY_BYTES_MAX = 256 << 20;

  private static final Set<PythonWorker> SENDING = ConcurrentHashMap.newKeySet();
  private static final long LOOKS_EVERY_MS = 500;

  private final PythonProcess process;
  private final DataOutputStream requests;
  private final BlockingQueue<Reply> replies = new LinkedBlockingQueue<>();
  private final Map<String, Integer> defined = new HashMap<>();
  private volatile boolean isWorn;

  /** The deadline of the current request; the process may have stopped reading. */
  private volatile long sentUntil;

  private volatile boolean isOverdue;
  private volatile String whyEnded;
  private long idleSince;

  /** A reply, or a question that waits for its answer. */
  private record Reply(byte[] body, boolean isQuestion) {}

  /** The process has ended or does not answer, and cannot be used again. */
  static final class Lost extends Exception {
    private static final long serialVersionUID = 1L;

    Lost(String message) {
      super(message);
    }
  }

  PythonWorker(Spec.WorkerCommand command) {
    process = new PythonProcess(command);
    requests = new DataOutputStream(new BufferedOutputStream(process.requests(), 1 << 16));
    PythonProcess.daemon("duolog-python-replies", this::readReplies);
  }

  private void readReplies() {
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(process.replies(), 1 << 16))) {
      while (true) {
        int length = in.readInt();
        boolean isQuestion = length == A_QUESTION;
        if (isQuestion) {
          length = in.readInt();
        }
        if (length == WORN) {
          isWorn = true;
        } else if (length < 0) {
          replies.add(PROGRESS);
        } else if (length > REPLY_BYTES_MAX) {
          whyEnded = "it gives " + length + " bytes for one call, more than " + REPLY_BYTES_MAX;
          replies.add(ENDED);
          kill();
          return;
        } else {
          byte[] body = new byte[length];
          in.readFully(body);
          replies.add(new Reply(body, isQuestion));
        }
      }
    } catch (IOException e) {
      replies.add(ENDED);
    }
  }

  /**
   * Calls a function with some rows.
   *
   * @throws Lost if the process does not answer in time, or has ended
   */
  List<PythonWorkers.Answer> call(PythonFunction function, List<byte[]> rows) throws Lost {
    ask(function, rows);
    return answers(reply(function.timeoutMs()).body, rows.size());
  }

  /**
   * Sends some rows without waiting; replies arrive in the order of the requests.
   *
   * @throws Lost if the process has ended
   */
  void ask(PythonFunction function, List<byte[]> rows) throws Lost {
    int number = number(function);
    expects(function.timeoutMs());
    int size = 1 + rows.size();
    for (byte[] row : rows) {
      size += row.length;
    }
    byte[] payload = new byte[size];
    int at = 0;
    payload[at++] = '[';
    for (byte[] row : rows) {
      System.arraycopy(row, 0, payload, at, row.length);
      at += row.length;
      payload[at++] = ',';
    }
    payload[size - 1] = ']'; // Replaces the last comma.
    send(CALL, number, payload);
  }

  /** Returns true if {@link #answer} would not wait. */
  boolean hasAnswer() {
    while (replies.peek() == PROGRESS) {
      replies.poll();
    }
    return !replies.isEmpty();
  }

  /**
   * Returns the answer to the first unanswered request, which has one row.
   *
   * @throws Lost if the process does not answer in time, or has ended
   */
  PythonWorkers.Answer answer(PythonFunction function) throws Lost {
    return answers(reply(function.timeoutMs()).body, 1).get(0);
  }

  /**
   * Sends a request, and answers questions until the reply arrives. The timeout is for one item,
   * including its questions.
   *
   * @throws Lost if the process does not reply in time, or has ended
   */
  byte[] converse(
      int kind,
      PythonFunction function,
      byte[] payload,
      long withinMs,
      UnaryOperator<byte[]> answers)
      throws Lost {
    int number = number(function);
    expects(withinMs);
    send(kind, number, payload);
    long until = System.nanoTime() + withinMs * 1_000_000;
    while (true) {
      Reply reply = next(Math.max(1, (until - System.nanoTime()) / 1_000_000));
      if (reply == PROGRESS) {
        until = System.nanoTime() + withinMs * 1_000_000;
        expects(withinMs);
      } else if (reply.isQuestion) {
        send(ANSWER, number, answers.apply(reply.body));
      } else {
        return reply.body;
      }
    }
  }

  private int number(PythonFunction function) throws Lost {
    Integer known = defined.get(function.id());
    if (known != null) {
      return known;
    }
    int number = defined.size();
    String told;
    try {
      expects(PythonWorkers.STARTS_WITHIN_MS);
      send(DEFINE, number, function.body());
      told = new String(reply(PythonWorkers.STARTS_WITHIN_MS).body, StandardCharsets.UTF_8);
    } catch (Lost lost) {
      // The record is not the cause: the next one would fail too.
      String what = lost.getMessage();
      String late = "it has not started within " + PythonWorkers.STARTS_WITHIN_MS + " ms";
      throw cannotLoad(function, what == null ? late : what);
    }
    if (!told.isEmpty() && told.charAt(0) == '-') {
      throw cannotLoad(function, told.substring(1));
    }
    defined.put(function.id(), number);
    return number;
  }

  private static RecordFailedException cannotLoad(PythonFunction function, String why) {
    return new RecordFailedException(
        "Python cannot load the function " + function.name() + ": " + why, null);
  }

  /**
   * Sets the deadline of the next request, including the time before the process starts to read.
   */
  private void expects(long withinMs) {
    sentUntil = System.nanoTime() + withinMs * 1_000_000;
  }

  private void send(int kind, int number, byte[] payload) throws Lost {
    SENDING.add(this);
    try {
      requests.writeInt(kind);
      requests.writeInt(number);
      requests.writeInt(payload.length);
      requests.write(payload);
      requests.flush();
    } catch (IOException e) {
      throw lost();
    } finally {
      SENDING.remove(this);
    }
  }

  /**
   * Ends processes that do not read their requests: a thread that writes to a pipe cannot be
   * interrupted.
   */
  private static void watchSending() {
    while (true) {
      try {
        Thread.sleep(LOOKS_EVERY_MS);
      } catch (InterruptedException e) {
        return;
      }
      for (PythonWorker worker : SENDING) {
        if (System.nanoTime() - worker.sentUntil > 0) {
          worker.isOverdue = true;
          worker.kill();
        }
      }
    }
  }

  static {
    PythonProcess.daemon("duolog-python-sending", PythonWorker::watchSending);
  }

  /** Returns the next reply, which must arrive within this time after the row before it. */
  private Reply reply(long withinMs) throws Lost {
    Reply reply;
    do {
      reply = next(withinMs);
    } while (reply == PROGRESS);
    return reply;
  }

  private Reply next(long withinMs) throws Lost {
    try {
      Reply reply = replies.poll(withinMs, TimeUnit.MILLISECONDS);
      if (reply == null) {
        kill();
        throw new Lost(null);
      }
      if (reply == ENDED) {
        throw lost();
      }
      return reply;
    } catch (InterruptedException stopping) {
      kill();
      Thread.currentThread().interrupt();
      throw new PythonWorkers.Stopped(stopping);
    }
  }

  private Lost lost() {
    if (isOverdue) {
      return new Lost(null);
    }
    if (whyEnded != null) {
      return new Lost(whyEnded);
    }
    return new Lost("its Python process has ended, " + process.howItEnded());
  }

  private static List<PythonWorkers.Answer> answers(byte[] reply, int count) {
    List<PythonWorkers.Answer> answers = new ArrayList<>(count);
    int from = 0;
    for (int at = 0; at < reply.length; at++) {
      if (reply[at] == '\n') {
        byte[] rest = java.util.Arrays.copyOfRange(reply, from + 1, at);
        answers.add(answer(reply[from], rest));
        from = at + 1;
      }
    }
    if (answers.size() != count) {
      throw new IllegalStateException(answers.size() + " answers for " + count + " rows");
    }
    return answers;
  }

  private static PythonWorkers.Answer answer(byte kind, byte[] rest) {
    return switch (kind) {
      case '+' -> new PythonWorkers.Answer(rest, null);
      case '~' -> PythonWorkers.Answer.nullFor(new String(rest, StandardCharsets.UTF_8));
      default -> new PythonWorkers.Answer(null, new String(rest, StandardCharsets.UTF_8));
    };
  }

  /**
   * Returns true if the process has reported that it must be replaced; a pending reply still
   * arrives.
   */
  boolean isWorn() {
    return isWorn;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  void idle() {
    idleSince = System.nanoTime();
  }

  long idleMs() {
    return (System.nanoTime() - idleSince) / 1_000_000;
  }

  /**
   * Ends the process in order: closes its input, and gives it a short time to release its
   * resources.
   */
  void end() {
    try {
      requests.close();
    } catch (IOException e) {
      // It has ended.
    }
    PythonProcess.daemon("duolog-python-end", this::awaitEnd);
  }

  /** Waits a short time for a process whose input was closed. */
  void awaitEnd() {
    process.awaitEnd();
  }

  /** Kills the process with all processes that functions have started. */
  void kill() {
    process.kill();
  }
}
