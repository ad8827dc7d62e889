package org.duolog.kernel.python;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.duolog.kernel.record.Change;

/**
 * The wire format between the kernel and a worker with processors: requests and outputs. {@code
 * duolog.functions.processors.wire} describes it.
 */
public final class ProcessorWire {
  static final int RECORD = 0;
  public static final int STREAM_TIME = 1;
  public static final int WALL_CLOCK = 2;
  private static final int NULL_KEY = 1;
  private static final int NULL_VALUE = 2;

  private ProcessorWire() {}

  /** A request to a processor: a record, or a point in time. */
  public record Item(
      int kind,
      long streamTime,
      long time,
      int partition,
      long offset,
      byte[] topic,
      byte[] headers,
      int nulls,
      byte[] data) {

    public static Item record(
        long streamTime, Change of, int partition, long offset, byte[] topic, byte[] data) {
      int nulls = (of.key == null ? NULL_KEY : 0) | (of.value == null ? NULL_VALUE : 0);
      return new Item(
          RECORD, streamTime, of.ts, partition, offset, topic, of.headers, nulls, data);
    }

    public static Item time(int kind, long streamTime, long time) {
      return new Item(kind, streamTime, time, 0, 0, null, null, 0, null);
    }

    public int size() {
      return data == null ? 0 : data.length;
    }

    private void write(DataOutputStream out) throws IOException {
      out.writeByte(kind);
      out.writeLong(streamTime);
      out.writeLong(time);
      if (kind == RECORD) {
        out.writeInt(partition);
        out.writeLong(offset);
        put(out, topic);
        put(out, headers);
        out.writeByte(nulls);
        put(out, data);
      }
    }
  }

  /** A forwarded record; key and value are JSON. */
  public record Forwarded(int output, long ts, byte[] headers, byte[] key, byte[] value) {}

  /** The output of an item. */
  public record Output(List<Forwarded> forwarded, List<String> errors) {}

  /** The outputs of a call; {@code rest} holds its writes, still encoded. */
  record Answer(List<Output> told, ByteBuffer rest) {}

  static byte[] items(List<Item> items) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(items.size() * 96);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(items.size());
      for (Item item : items) {
        item.write(out);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  static Answer answer(ByteBuffer in) {
    int items = in.getInt();
    List<Output> told = new ArrayList<>(items);
    for (int i = 0; i < items; i++) {
      int count = in.getInt();
      List<Forwarded> forwarded = new ArrayList<>(count);
      for (int n = 0; n < count; n++) {
        forwarded.add(
            new Forwarded(in.getInt(), in.getLong(), bytes(in), bytes(in), bytes(in)));
      }
      List<String> errors = new ArrayList<>();
      for (int left = in.getInt(); left > 0; left--) {
        errors.add(new String(bytes(in), StandardCharsets.UTF_8));
      }
      told.add(new Output(forwarded, errors));
    }
    return new Answer(told, in);
  }

  static String text(ByteBuffer in) {
    return new String(bytes(in), StandardCharsets.UTF_8);
  }

  /** Reads bytes that follow their length; null if there are none. */
  static byte[] bytes(ByteBuffer in) {
    int length = in.getInt();
    if (length < 0) {
      return null;
    }
    byte[] found = new byte[length];
    in.get(found);
    return found;
  }

  static void put(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes == null ? -1 : bytes.length);
    if (bytes != null) {
      out.write(bytes);
    }
  }
}
