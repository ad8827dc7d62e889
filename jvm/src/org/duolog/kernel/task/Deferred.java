package org.duolog.kernel.task;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.duolog.kernel.record.Envelope;

/**
 * Records that wait at nodes which process many at once, and the outputs of other records
 * meanwhile. Outputs leave in the order of the records that caused them, as if no record had
 * waited.
 *
 * <p>Only stateless nodes are downstream of such a node, so waiting is not visible to state. In
 * real time only look-ups wait, at the source: up to their limit, and the outputs of a later record
 * leave after those of the earlier ones. The task's reader asks whether a look-up has been answered
 * ({@code WakingReaders}). Threads: not shared.
 */
public final class Deferred {
  private static final int RECORDS_MAX = 1_000;
  private static final int BYTES_MAX = 4 << 20;
  private static final Comparator<Envelope> IN_TURN =
      (one, other) -> Arrays.compare(one.turnHeld, other.turnHeld);

  private final NodeContext scope;
  private final List<Holding> nodes = new ArrayList<>();
  private List<Envelope> held = new ArrayList<>();
  private int waiting;
  private int bytes;
  private int record;

  /**
   * The position of the current record in the order of all records, and the number of its outputs
   * so far.
   */
  private int[] at = {0};

  private int next;
  private boolean looksUp;

  /**
   * The instances of the running task whose look-ups may be answered while it waits for records.
   */
  private static final ThreadLocal<List<Deferred>> ASKED = ThreadLocal.withInitial(ArrayList::new);

  /** A node at which records wait. */
  public interface Holding {
    /** Returns true if the limit of concurrent calls is reached. */
    boolean isFull();

    /** Returns true if the first waiting record can proceed. */
    boolean isAnswered();

    /** Returns the number of the first record that waits here; the greatest number if none does. */
    int oldest();

    /**
     * Lets those at the head proceed that can; if {@code waits} is true, waits for at least one.
     *
     * @return true if one has proceeded
     */
    boolean advance(boolean waits);

    /** Lets all waiting records proceed. */
    void flush();
  }

  public Deferred(NodeContext scope) {
    this.scope = scope;
  }

  /** Adds a node; parents must be added before their children. */
  public void join(Holding node) {
    nodes.add(node);
  }

  /**
   * Declares that look-ups wait here in real time, and that the task's reader is woken when they
   * are answered.
   */
  public void markPolled() {
    if (!looksUp) {
      looksUp = true;
      ASKED.get().add(this);
    }
  }

  public void close() {
    ASKED.get().remove(this);
  }

  /** Returns true if look-ups of this thread's task are in progress. */
  public static boolean anyWaits() {
    for (Deferred one : ASKED.get()) {
      if (one.waiting > 0) {
        return true;
      }
    }
    return false;
  }

  /** Returns true if a look-up has been answered and the record that waits for it can proceed. */
  public static boolean anyIsAnswered() {
    for (Deferred one : ASKED.get()) {
      for (Holding node : one.nodes) {
        if (node.isAnswered()) {
          return true;
        }
      }
    }
    return false;
  }

  /** @param last true if it leaves after all other outputs of its record */
  void hold(Envelope envelope, boolean last) {
    int[] turn = turn();
    if (last) {
      int[] behind = new int[turn.length + 1];
      System.arraycopy(turn, 1, behind, 2, turn.length - 1);
      behind[0] = turn[0];
      behind[1] = Integer.MAX_VALUE;
      turn = behind;
    }
    envelope.turnHeld = turn;
    held.add(envelope);
  }

  /**
   * Registers that a record of this size waits; its later outputs have this position in the order.
   */
  int[] startWaiting(int size) {
    waiting++;
    bytes += size;
    return turn();
  }

  /** Registers that a record of this size no longer waits. */
  public void stopWaiting(int size) {
    waiting--;
    bytes -= size;
  }

  /** Sets the position of the following outputs to that of a record that has waited. */
  void resume(int[] turn) {
    at = turn;
    next = 0;
  }

  private int[] turn() {
    int[] turn = Arrays.copyOf(at, at.length + 1);
    turn[at.length] = next++;
    return turn;
  }

  boolean isFull() {
    return waiting >= RECORDS_MAX || bytes >= BYTES_MAX;
  }

  /** Ends a record. Its outputs leave if nothing waits. */
  public void recordDone() {
    if (looksUp) {
      advance();
    } else if (waiting == 0) {
      leave();
    } else if (scope.realTime || isFull()) {
      flush();
    } else {
      resume(new int[] {++record});
    }
  }

  /** Lets answered records proceed, and waits only if the limit is exceeded. */
  public void advance() {
    forward(false);
    while (isCrowded()) {
      forward(true);
    }
    if (waiting == 0) {
      held.sort(IN_TURN);
      leave();
    } else {
      leaveBefore(oldest());
      resume(new int[] {++record});
    }
  }

  private boolean isCrowded() {
    boolean many = waiting > 0 && held.size() >= RECORDS_MAX;
    return isFull() || many || nodes.stream().anyMatch(Holding::isFull);
  }

  private int oldest() {
    int oldest = Integer.MAX_VALUE;
    for (Holding node : nodes) {
      oldest = Math.min(oldest, node.oldest());
    }
    return oldest;
  }

  /**
   * @param waits true to wait for at least one record: the first at the first node with waiting
   *     records
   */
  private void forward(boolean waits) {
    boolean still = waits;
    for (Holding node : nodes) {
      // Its outputs may wait at downstream nodes.
      if (node.advance(still)) {
        still = false;
      }
    }
    scope.reportNotes();
    if (waits) {
      leaveBefore(oldest());
    }
  }

  /** Emits the outputs of all records before this one. */
  private void leaveBefore(int number) {
    held.sort(IN_TURN);
    int done = 0;
    while (done < held.size() && held.get(done).turnHeld[0] < number) {
      Envelope envelope = held.get(done++);
      envelope.turnHeld = null;
      scope.leave(envelope);
    }
    held.subList(0, done).clear();
  }

  /** Lets all waiting records proceed, and emits their outputs. */
  public void flush() {
    if (waiting > 0) {
      for (Holding node : nodes) {
        // Its outputs may wait at downstream nodes.
        node.flush();
      }
      scope.reportNotes();
      waiting = 0;
      bytes = 0;
      held.sort(IN_TURN);
    }
    leave();
  }

  private void leave() {
    for (Envelope envelope : held) {
      envelope.turnHeld = null;
      scope.leave(envelope);
    }
    held = held.isEmpty() ? held : new ArrayList<>();
    record = 0;
    resume(new int[] {0});
  }
}
