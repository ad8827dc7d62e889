package org.duolog.kernel.task;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.duolog.kernel.record.Envelope;

/**
 * Records that wait at nodes which take many at once, and all that leaves meanwhile: in the end it leaves in the order
 * of the records that caused it, as if none had waited.
 *
 * <p>Only nodes that keep nothing stand behind such a node, so that nobody sees who waited. In real time only look-ups
 * wait, where records are read: up to their limit, and what a later record causes leaves when those before it are done.
 * The task's reader asks whether one has been answered ({@code WakingReaders}). Threads: not shared.
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

  /** Where what goes on stands in the order of all, and how much of it has come already. */
  private int[] at = {0};

  private int next;
  private boolean looksUp;

  /** Those of the running task whose look-ups may be answered while it waits for records. */
  private static final ThreadLocal<List<Deferred>> ASKED = ThreadLocal.withInitial(ArrayList::new);

  /** A node at which records wait. */
  public interface Holding {
    /** Whether as many are under way as may be. */
    boolean isFull();

    /** Whether the first that waits can go on. */
    boolean isAnswered();

    /** The first record, in their order, of which something waits here; none: the greatest number. */
    int oldest();

    /**
     * Goes on with those at the head that can; with {@code waits}, at least with one.
     *
     * @return whether there was one
     */
    boolean advance(boolean waits);

    /** Goes on with all that wait. */
    void flush();
  }

  public Deferred(NodeContext scope) {
    this.scope = scope;
  }

  /** Nodes come parents first. */
  public void join(Holding node) {
    nodes.add(node);
  }

  /** Look-ups wait here in real time, and the reader of the task hears when they are answered. */
  public void isAsked() {
    if (!looksUp) {
      looksUp = true;
      ASKED.get().add(this);
    }
  }

  public void close() {
    ASKED.get().remove(this);
  }

  /** Whether look-ups of this thread's task are under way. */
  public static boolean anyWaits() {
    for (Deferred one : ASKED.get()) {
      if (one.waiting > 0) {
        return true;
      }
    }
    return false;
  }

  /** Whether one of them has been answered, and what has waited for it can go on. */
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

  /** @param last whether it leaves behind all else of its record */
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

  /** A record waits, with so many bytes; what it causes later has this place in the order. */
  int[] waits(int size) {
    waiting++;
    bytes += size;
    return turn();
  }

  /** One that waited, with so many bytes, does so no more. */
  public void goesOn(int size) {
    waiting--;
    bytes -= size;
  }

  /** What comes now is caused by what has waited. */
  void goOn(int[] turn) {
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

  /** A record is done, but for what waits: if nothing does, what it caused leaves. */
  public void recordDone() {
    if (looksUp) {
      advance();
    } else if (waiting == 0) {
      leave();
    } else if (scope.realTime || isFull()) {
      flush();
    } else {
      goOn(new int[] {++record});
    }
  }

  /** Goes on with what has been answered, and waits only where too much is under way. */
  public void advance() {
    handOn(false);
    while (isCrowded()) {
      handOn(true);
    }
    if (waiting == 0) {
      held.sort(IN_TURN);
      leave();
    } else {
      leaveBefore(oldest());
      goOn(new int[] {++record});
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

  /** @param waits whether one goes on in any case: the first at the first node where some wait */
  private void handOn(boolean waits) {
    boolean still = waits;
    for (Holding node : nodes) {
      // What one hands on may wait at those behind it.
      if (node.advance(still)) {
        still = false;
      }
    }
    scope.tellNotes();
    if (waits) {
      leaveBefore(oldest());
    }
  }

  /** Lets leave what all records before this one have caused. */
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

  /** Lets all that waits go on, and what it causes leave. */
  public void flush() {
    if (waiting > 0) {
      for (Holding node : nodes) {
        // What one hands on may wait at those behind it.
        node.flush();
      }
      scope.tellNotes();
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
    goOn(new int[] {0});
  }
}
