package org.duolog.kernel.state;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.StoredRow;
import org.duolog.kernel.topology.InitialEntry;

/**
 * Merges the state that a processor keeps of two tasks into that of one; in memory and without Spark.
 *
 * <p>Usage: ENTRY…, in the order of arrival: TASK:schedules:TIME:JSON or TASK:turn:NAME. Prints each merged entry: its
 * key, its time and its JSON.
 */
public final class MergedSchedules {
  private static final Grouping BEFORE = new Grouping(1, 2, 1);
  private static final Grouping NOW = new Grouping(1, 1, 1);

  private MergedSchedules() {}

  public static void main(String[] args) {
    InitialState.StoreCopy kept =
        new InitialState.StoreCopy(
            "", 0, 0, "own", "own", 0, List.of(), List.of(), "", "schedules", BEFORE.tasks());
    TaskStateMigration own = new TaskStateMigration(kept, NOW);
    for (String entry : args) {
      String[] parts = entry.split(":", 4);
      long number = BEFORE.bucket(BEFORE.of(0, Integer.parseInt(parts[0])), 0);
      byte[] value = parts[1].equals("turn") ? text(parts[2]) : schedules(parts[2], parts[3]);
      own.add(number, row(text(parts[1])).getBytes(), StoredRow.encode(row(value), 0));
    }
    for (InitialEntry made : own.entries()) {
      UnsafeRow key = new UnsafeRow(1);
      key.pointTo(made.getKey(), made.getKey().length);
      ByteBuffer value = ByteBuffer.wrap(StoredRow.row(made.getValue(), 1).getBinary(0));
      long time = value.getLong();
      String name = new String(key.getBinary(0), StandardCharsets.UTF_8);
      System.out.println(name + ' ' + time + ' ' + StandardCharsets.UTF_8.decode(value));
    }
  }

  private static byte[] schedules(String time, String json) {
    byte[] text = text(json);
    return ByteBuffer.allocate(Long.BYTES + text.length).putLong(Long.parseLong(time)).put(text).array();
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static UnsafeRow row(byte[] bytes) {
    UnsafeRowWriter writer = new UnsafeRowWriter(1);
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, bytes);
    return writer.getRow().copy();
  }
}
