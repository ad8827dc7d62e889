package org.duolog.kernel.store;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.JoinedRow;
import org.duolog.kernel.task.Operands;

/**
 * Finds the current row of a key in a table: read from the table's store, or computed from it.
 *
 * <p>So a table that is a filter or a projection of another table, or the result of an aggregate,
 * needs no store of its own for look-ups. A row that cannot be computed counts as deleted, as for
 * receivers of changes. The result is valid until the next call. Threads: one at a time between
 * open and close. Source: Kafka Streams KTableValueGetter.
 */
public abstract class ValueGetter implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The row's timestamp, after {@link #get} has found one. */
  public transient long ts;

  /** Returns the row of a key, or null. */
  public abstract UnsafeRow get(UnsafeRow key);

  /**
   * Returns the row that a key had at a time, or null; the current row if the table has no
   * versions.
   */
  public UnsafeRow get(UnsafeRow key, long time) {
    return get(key);
  }

  public void open(int partition) {}

  public void close() {}

  public static ValueGetter of(KeyValueStore store) {
    return new Stored(store);
  }

  /** Reads a store: the latest rows, and by time earlier ones if it is versioned. */
  public static ValueGetter of(KeyValueStore store, VersionRows versions) {
    return new Stored(store) {
      private static final long serialVersionUID = 1L;

      @Override
      public UnsafeRow get(UnsafeRow key, long time) {
        UnsafeRow row = versions.at(store.lookup(key), time);
        ts = versions.foundTs();
        return row;
      }
    };
  }

  /** The rows of {@code of} for which a predicate holds. */
  public static ValueGetter filtered(ValueGetter of, Program predicate, int keys, int values) {
    return new Computed(of, predicate, keys, values) {
      private static final long serialVersionUID = 1L;

      @Override
      UnsafeRow computed(UnsafeRow key, UnsafeRow row) {
        return Program.holds(program.applyToOld(operands.of(key, row, null, ts))) ? row : null;
      }
    };
  }

  /** Columns computed from the rows of {@code of}. */
  public static ValueGetter projected(ValueGetter of, Program columns, int keys, int values) {
    return new Computed(of, columns, keys, values) {
      private static final long serialVersionUID = 1L;

      @Override
      UnsafeRow computed(UnsafeRow key, UnsafeRow row) {
        return program.applyToOld(operands.of(key, row, null, ts));
      }
    };
  }

  /** The rows computed from those of {@code own} and those of {@code other}. */
  public static ValueGetter joined(ValueGetter own, ValueGetter other, JoinedRow joined) {
    return new Joined(own, other, joined);
  }

  private static class Stored extends ValueGetter {
    private static final long serialVersionUID = 1L;

    private final KeyValueStore store;

    Stored(KeyValueStore store) {
      this.store = store;
    }

    @Override
    public UnsafeRow get(UnsafeRow key) {
      KeyValueStore.Entry entry = store.lookup(key);
      ts = entry.ts;
      return entry.row;
    }
  }

  private static final class Joined extends ValueGetter {
    private static final long serialVersionUID = 1L;

    private final ValueGetter own;
    private final ValueGetter other;
    private final JoinedRow joined;

    Joined(ValueGetter own, ValueGetter other, JoinedRow joined) {
      this.own = own;
      this.other = other;
      this.joined = joined;
    }

    @Override
    public UnsafeRow get(UnsafeRow key) {
      UnsafeRow ownRow = own.get(key);
      UnsafeRow otherRow = other.get(key);
      ts = JoinedRow.ts(ownRow, own.ts, otherRow, other.ts);
      return joined.isThere(ownRow, otherRow)
          ? joined.applyToOld(key, ownRow, otherRow, ts)
          : null;
    }

    @Override
    public void open(int partition) {
      own.open(partition);
      other.open(partition);
      joined.open(partition);
    }

    @Override
    public void close() {
      joined.close();
      other.close();
      own.close();
    }
  }

  private abstract static class Computed extends ValueGetter {
    private static final long serialVersionUID = 1L;

    protected final Program program;
    protected transient Operands operands;
    private final ValueGetter of;
    private final int keyColumns;
    private final int valueColumns;

    Computed(ValueGetter of, Program program, int keyColumns, int valueColumns) {
      this.of = of;
      this.program = program;
      this.keyColumns = keyColumns;
      this.valueColumns = valueColumns;
    }

    abstract UnsafeRow computed(UnsafeRow key, UnsafeRow row);

    @Override
    public UnsafeRow get(UnsafeRow key) {
      return computedOf(key, of.get(key));
    }

    @Override
    public UnsafeRow get(UnsafeRow key, long time) {
      return computedOf(key, of.get(key, time));
    }

    private UnsafeRow computedOf(UnsafeRow key, UnsafeRow row) {
      ts = of.ts;
      return row == null ? null : computed(key, row);
    }

    @Override
    public void open(int partition) {
      of.open(partition);
      program.open(partition);
      operands = new Operands(keyColumns, valueColumns, 0);
    }

    @Override
    public void close() {
      program.close();
      of.close();
    }
  }
}
