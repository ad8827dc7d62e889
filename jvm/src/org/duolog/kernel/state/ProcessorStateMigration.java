package org.duolog.kernel.state;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.duolog.kernel.python.ProcessorStores;
import org.duolog.kernel.record.StoredRow;

/**
 * Converts the state that processors keep per task for a new number of tasks; all of it is in
 * bucket 0 of its store.
 *
 * <pre>
 *   a store of windows, sessions, versions:
 *     [greatest time, segments]        the greatest; all of them
 *   stream time and schedules of a processor:
 *     8 bytes, [[kind, interval, at]]  the greatest; see below
 *   its last turn ({@code ProcessorTask}):
 *     a name                           dropped: processors are created again
 * </pre>
 *
 * <p>A schedule is due at the earliest of its times in all tasks, so that keys of a task with an
 * earlier stream time do not miss a call; if several times pass at once there is one call.
 * Schedules that all tasks have cancelled stay cancelled; those that differ start as init defines
 * them.
 *
 * <p>Source: {@code functions/processors/stores.py}, {@code schedules.py}, which write it.
 */
final class ProcessorStateMigration {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int AT = 2;

  private ProcessorStateMigration() {}

  static byte[] together(StateRepartitioner.Form form, Collection<byte[]> rows) {
    long ts = rows.stream().mapToLong(StoredRow::ts).max().orElseThrow();
    List<byte[]> data =
        rows.stream().map(row -> StoredRow.row(row, ProcessorStores.COLUMNS).getBinary(0)).toList();
    try {
      byte[] made = form == StateRepartitioner.Form.SCHEDULES ? schedules(data) : segments(data);
      return StoredRow.encode(row(made), ts);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("cannot read the state that processors keep per task", e);
    }
  }

  private static byte[] segments(List<byte[]> data) throws JsonProcessingException {
    long time = Long.MIN_VALUE;
    TreeSet<Long> segments = new TreeSet<>();
    for (byte[] one : data) {
      JsonNode known = read(ByteBuffer.wrap(one));
      time = Math.max(time, known.get(0).asLong());
      known.get(1).forEach(segment -> segments.add(segment.asLong()));
    }
    ArrayNode made = MAPPER.createArrayNode().add(time);
    ArrayNode all = made.addArray();
    segments.forEach(all::add);
    return MAPPER.writeValueAsBytes(made);
  }

  private static byte[] schedules(List<byte[]> data) throws JsonProcessingException {
    long time = Long.MIN_VALUE;
    List<JsonNode> kept = new ArrayList<>();
    for (byte[] one : data) {
      ByteBuffer bytes = ByteBuffer.wrap(one);
      time = Math.max(time, bytes.getLong());
      kept.add(read(bytes));
    }
    ArrayNode made = MAPPER.createArrayNode();
    int count = kept.stream().mapToInt(JsonNode::size).max().orElse(0);
    for (int place = 0; place < count; place++) {
      made.add(schedule(kept, place));
    }
    byte[] text = MAPPER.writeValueAsBytes(made);
    return ByteBuffer.allocate(Long.BYTES + text.length).putLong(time).put(text).array();
  }

  /**
   * Returns the merged schedule at an index; the reader skips one that no task has created like
   * this.
   */
  private static JsonNode schedule(List<JsonNode> kept, int place) {
    JsonNode earliest = MAPPER.nullNode();
    for (JsonNode of : kept) {
      JsonNode one = of.get(place);
      if (one == null || one.isNull()) {
        continue;
      }
      if (!earliest.isNull() && !isAlike(earliest, one)) {
        return MAPPER.createArrayNode();
      }
      if (earliest.isNull() || one.get(AT).asLong() < earliest.get(AT).asLong()) {
        earliest = one;
      }
    }
    return earliest;
  }

  private static boolean isAlike(JsonNode one, JsonNode other) {
    return one.get(0).equals(other.get(0)) && one.get(1).equals(other.get(1));
  }

  private static JsonNode read(ByteBuffer text) throws JsonProcessingException {
    return MAPPER.readTree(StandardCharsets.UTF_8.decode(text).toString());
  }

  private static UnsafeRow row(byte[] data) {
    UnsafeRowWriter writer = new UnsafeRowWriter(ProcessorStores.COLUMNS);
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, data);
    return writer.getRow();
  }
}
