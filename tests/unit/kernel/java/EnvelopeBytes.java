package org.duolog.kernel.record;

import java.util.Arrays;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.types.UTF8String;

/** Packs records with each part null, empty or filled; prints how many differ after unpacking. */
public final class EnvelopeBytes {
  private static final byte[][] PARTS = {null, {}, {1, -2, 3}, new byte[40]};
  private static final UnsafeRow[] ROWS = {null, row(8), row(24)};
  private static final long[] TIMES = {0, -1, Long.MAX_VALUE};

  private static int wrong;

  private EnvelopeBytes() {}

  public static void main(String[] args) {
    // Spark takes each public getter of a bean for a column.
    String[] columns = {"grouping", "packed"};
    check(Arrays.equals(columns, Envelope.ENCODER.schema().fieldNames()));
    for (byte[] one : PARTS) {
      for (byte[] other : PARTS) {
        for (long time : TIMES) {
          toEdges(one, other, time);
          toSinks(one, other, time);
        }
      }
    }
    System.out.println(wrong);
  }

  private static void toEdges(byte[] headers, byte[] origin, long time) {
    for (UnsafeRow key : ROWS) {
      for (UnsafeRow value : ROWS) {
        for (UnsafeRow old : ROWS) {
          Change change = new Change();
          change.ts = time;
          change.oldTs = time - 7;
          change.headers = headers;
          Envelope made = Envelope.toEdge(3, key, value, old, change, origin);
          made.stamp(5, 1L << 40, 6);
          Envelope came = copied(made);
          check(!came.forSink() && came.edge() == 3 && came.ts() == time);
          check(came.oldTs() == time - 7 && came.source() == 5 && came.position() == 1L << 40);
          check(came.turn() == 6);
          check(equal(key, came.keyAt(new UnsafeRow(1))));
          check(equal(value, came.valueAt(new UnsafeRow(1))));
          check(equal(old, came.oldAt(new UnsafeRow(1))));
          check(Arrays.equals(headers, came.headers()) && Arrays.equals(origin, came.origin()));
          check(came.topic() == null && came.partition() == Envelope.ANY_PARTITION);
        }
      }
    }
  }

  private static void toSinks(byte[] one, byte[] other, long time) {
    for (String topic : new String[] {null, "", "Tö"}) {
      for (int sink : new int[] {0, 9}) {
        UTF8String text = topic == null ? null : UTF8String.fromString(topic);
        Envelope made = Envelope.toSink(sink, one, other, time, other, one, text, sink - 1);
        Envelope came = copied(made);
        check(came.forSink() && came.sink() == sink && came.ts() == time);
        check(Arrays.equals(one, came.key()) && Arrays.equals(other, came.value()));
        check(Arrays.equals(other, came.headers()) && Arrays.equals(one, came.origin()));
        check(Objects.equals(topic, came.topic()) && came.partition() == sink - 1);
      }
    }
  }

  /** As Spark transfers it: a number and bytes. */
  private static Envelope copied(Envelope made) {
    made.setGrouping(42);
    Envelope came = new Envelope();
    came.setGrouping(made.getGrouping());
    came.setPacked(made.getPacked().clone());
    check(came.getGrouping() == 42);
    return came;
  }

  private static boolean equal(UnsafeRow row, UnsafeRow came) {
    return Objects.equals(row, came);
  }

  private static UnsafeRow row(int bytes) {
    UnsafeRow row = new UnsafeRow(1);
    byte[] filled = new byte[bytes];
    Arrays.fill(filled, 8, bytes, (byte) bytes);
    row.pointTo(filled, bytes);
    return row;
  }

  private static void check(boolean right) {
    wrong += right ? 0 : 1;
  }
}
