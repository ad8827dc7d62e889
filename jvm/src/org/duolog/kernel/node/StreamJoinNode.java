package org.duolog.kernel.node;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.record.Change;
import org.duolog.kernel.record.RecordException;
import org.duolog.kernel.spec.JoinOperators;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.store.StreamJoinRows;
import org.duolog.kernel.store.UnmatchedJoinRows;
import org.duolog.kernel.task.Node;
import org.duolog.kernel.task.NodeContext;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.task.Store;

/**
 * Joins each record of a stream with earlier records of another stream that are close in time.
 *
 * <pre>
 *   record at t   1  records of both sides whose windows have closed are emitted unmatched
 *                 2  joined with the other side's records from t - before to t + after whose
 *                    windows are open; these match
 *                 3  without any: emitted unmatched if its window has closed; otherwise buffered
 *                 4  stored for later records of the other side; counted as late if it is too late
 *                    for that, or for 2
 * </pre>
 *
 * <p>A join has two of these, with the same children, which read each other's stores. A result's
 * timestamp is the later one of both records. The kind of join determines what is emitted
 * unmatched; in eager mode nothing is buffered. Null values are dropped; a null key has no partner.
 * If a stream is joined with itself, only the left side stores records, and the right side finds
 * each record among them. A result that cannot be computed does not affect others. A window has
 * closed when the time of both sides is beyond its end and the grace period: then a record is
 * emitted unmatched, and not joined any more, so no record is both. Source: Kafka Streams
 * KStreamKStreamJoin, KStreamJoinWindow; KIP-962 for null keys.
 */
final class StreamJoinNode extends Node {
  private static final long serialVersionUID = 1L;

  private final Stores stores;
  private final JoinOperators.StreamJoin of;
  private final Program values;
  private final Program keyBytes;
  private final UnmatchedJoinRows clock;
  private transient Operands operands;
  private transient Operands keyOperands;

  /**
   * The stores of both sides. Null for a store that this side does not write, or if nothing is
   * buffered.
   *
   * @param other the records of the other side
   */
  record Stores(
      StreamJoinRows own,
      StreamJoinRows other,
      UnmatchedJoinRows unmatched,
      UnmatchedJoinRows otherUnmatched)
      implements java.io.Serializable {}

  /** @param keyBytes computes the bytes by which buffered keys are ordered */
  StreamJoinNode(JoinOperators.StreamJoin of, Stores stores, Program values, Program keyBytes) {
    this.of = of;
    this.stores = stores;
    this.values = own(values);
    this.keyBytes = own(keyBytes);
    this.clock = of.left() ? stores.unmatched : stores.otherUnmatched;
  }

  @Override
  public void open(NodeContext scope, int partition) {
    super.open(scope, partition);
    int keys = of.keyTypes().size();
    operands = new Operands(keys, of.valueTypes().size(), of.rightTypes().size());
    keyOperands = new Operands(keys, 0, 0);
    if (stores.unmatched != null) {
      stores.unmatched.orderBy(key -> keyBytes.bytes(keyOperands.of(key, null, null, 0)));
    }
  }

  @Override
  public List<Store> stores() {
    List<Store> filled = new ArrayList<>();
    if (stores.own != null) {
      filled.add(stores.own);
    }
    if (stores.unmatched != null) {
      filled.add(stores.unmatched);
    }
    return filled;
  }

  @Override
  public boolean needsOld() {
    return false;
  }

  @Override
  public void process(Change change) {
    if (clock != null) {
      clock.observe(change.ts);
    }
    if (change.key == null) {
      if (change.value != null && of.tellsUnmatched()) {
        emit(change, null, change.value, null, change.ts);
      } else {
        scope.drop(this, change);
      }
    } else if (change.value == null) {
      scope.drop(this, change);
      if (stores.own != null) {
        stores.own.observe(change.ts);
      }
    } else {
      if (clock != null && change.ts == clock.time()) {
        emitClosed(change);
      }
      join(change);
      boolean isKept =
          stores.own == null || stores.own.add(change.key, change.value, change.ts);
      if (!isKept || stores.own != null && isLate(change.ts)) {
        scope.late(this);
      }
    }
  }

  private void join(Change change) {
    long first = Math.max(0, change.ts - of.beforeMs());
    if (closes()) {
      first = Math.max(first, otherOpenSince());
    }
    long last = Math.max(0, later(change.ts, of.afterMs()));
    List<StreamJoinRows.StoredRecord> partners = stores.other.find(change.key, first, last);
    for (StreamJoinRows.StoredRecord partner : partners) {
      if (stores.otherUnmatched != null) {
        stores.otherUnmatched.remove(change.key, partner.ts());
      }
      long ts = Math.max(change.ts, partner.ts());
      emit(change, change.key, change.value, partner.row(), ts);
    }
    if (partners.isEmpty() && of.tellsUnmatched()) {
      if (stores.unmatched == null || later(last, waitsMs()) < clock.time()) {
        emit(change, change.key, change.value, null, change.ts);
      } else {
        stores.unmatched.add(change.key, change.value, change.ts);
      }
    }
  }

  /** Returns true if records that it could have joined have closed. */
  private boolean isLate(long ts) {
    return closes() && ts - of.beforeMs() < otherOpenSince();
  }

  /** Returns true if closed records of the other side are not joined any more. */
  private boolean closes() {
    return stores.otherUnmatched != null && !of.again();
  }

  /**
   * Returns how long a record is buffered after its window has passed; Kafka Streams emits it at
   * once.
   */
  private long waitsMs() {
    return of.again() ? 0 : of.graceMs();
  }

  /** Returns the time before which the windows of the other side's records have closed. */
  private long otherOpenSince() {
    return clock.time() - of.beforeMs() - of.graceMs();
  }

  /** Adds a duration, which may be negative, to a time without overflow. */
  private static long later(long ts, long ms) {
    return ms > 0 && ts > Long.MAX_VALUE - ms ? Long.MAX_VALUE : ts + ms;
  }

  /**
   * Emits all records whose windows have closed, by time; at equal times those of the right side
   * first.
   */
  private void emitClosed(Change change) {
    // The window as seen from the record; for the other side it is reversed.
    long own = clock.time() - of.afterMs() - of.graceMs();
    long other = otherOpenSince();
    while (true) {
      long first = stores.unmatched == null ? Long.MAX_VALUE : stores.unmatched.first(own);
      long otherFirst =
          stores.otherUnmatched == null ? Long.MAX_VALUE : stores.otherUnmatched.first(other);
      if (first == Long.MAX_VALUE && otherFirst == Long.MAX_VALUE) {
        return;
      }
      if (first < otherFirst || (first == otherFirst && !of.left())) {
        stores.unmatched.take((key, row, ts) -> emit(change, key, row, null, ts));
      } else {
        stores.otherUnmatched.take((key, row, ts) -> emit(change, key, null, row, ts));
      }
    }
  }

  private void emit(Change cause, UnsafeRow key, UnsafeRow own, UnsafeRow other, long ts) {
    UnsafeRow row;
    try {
      row = values.apply(operands.of(key, own, other, ts));
    } catch (RecordException e) {
      scope.failed(this, cause, e);
      return;
    }
    forward(out.set(key, row, null, ts, 0, cause.headers));
  }
}
