package org.duolog.kernel.record;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A record on its way from one level to the next, or to a sink.
 *
 * <p>To Spark it is a bean of two columns: a number to group by, and bytes that are copied
 * unchanged. Thirteen columns would be encoded, copied and decoded one by one in each shuffle.
 *
 * <pre>
 *   ts (8) position (8) old ts (8) edge (4) source (4) partition (4)
 *   lengths or -1 of: key, value, old, headers, origin, topic (4 each), turn (4)
 *   key, value, old, headers, origin, topic
 * </pre>
 *
 * <p>Numbers are in native byte order. On an edge, key, value and old value are UnsafeRows that
 * nodes read in place; for a sink they are Kafka's bytes. {@code edge >= 0} is an edge id;
 * {@code edge < 0} is sink {@code -(edge + 1)}.
 *
 * <p>Threads: not shared.
 */
public final class Envelope implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Spark's encoder for envelopes. */
  public static final Encoder<Envelope> ENCODER = Encoders.bean(Envelope.class);

  public static final int ANY_PARTITION = -1;

  /** The number of columns. Spark orders the columns of a bean by name. */
  static final int COLUMNS = 2;

  static final int GROUPING = 0;
  static final int PACKED = 1;

  private static final int TS = Platform.BYTE_ARRAY_OFFSET;
  private static final int POSITION = TS + 8;
  private static final int OLD_TS = TS + 16;
  private static final int EDGE = TS + 24;
  private static final int SOURCE = TS + 28;
  private static final int PARTITION = TS + 32;
  private static final int LENGTHS = TS + 36;
  private static final int TURN = TS + 60;
  private static final int PARTS = TS + 64;
  private static final int KEY = 0;
  private static final int VALUE = 1;
  private static final int OLD = 2;
  private static final int HEADERS = 3;
  private static final int ORIGIN = 4;
  private static final int TOPIC = 5;
  private static final int NULL_LENGTH = -1;

  /** Flag next to the turn: the records of a task already arrive in the order of {@code Merge}. */
  private static final int MERGED = 1 << 31;

  private long grouping;
  private byte[] packed;

  /**
   * Its position in the order of all deferred records ({@code Deferred}); null if it is not
   * deferred.
   */
  public transient int[] turnHeld;

  public Envelope() {}

  private Envelope(int edge, int size, long ts, long oldTs, int partition) {
    packed = new byte[PARTS - TS + size];
    Platform.putLong(packed, TS, ts);
    Platform.putLong(packed, OLD_TS, oldTs);
    Platform.putInt(packed, EDGE, edge);
    Platform.putInt(packed, PARTITION, partition);
  }

  /** Creates a record for an edge, or a change with its old row. Copies the rows. */
  public static Envelope toEdge(
      int edge, UnsafeRow key, UnsafeRow value, UnsafeRow old, Change of, byte[] origin) {
    int size = size(key) + size(value) + size(old) + size(of.headers) + size(origin);
    Envelope envelope = new Envelope(edge, size, of.ts, of.oldTs, ANY_PARTITION);
    int at = envelope.put(KEY, key, PARTS);
    at = envelope.put(VALUE, value, at);
    at = envelope.put(OLD, old, at);
    at = envelope.put(HEADERS, of.headers, at);
    at = envelope.put(ORIGIN, origin, at);
    envelope.put(TOPIC, (byte[]) null, at);
    return envelope;
  }

  /**
   * Creates a record for a sink.
   *
   * @param topic the topic to write to; null for the sink's own topic
   * @param partition the partition to write to; {@link #ANY_PARTITION} for the partition of the key
   */
  public static Envelope toSink(
      int sink,
      byte[] key,
      byte[] value,
      long ts,
      byte[] headers,
      byte[] origin,
      UTF8String topic,
      int partition) {
    byte[] topicBytes = topic == null ? null : topic.getBytes();
    int size = size(key) + size(value) + size(headers) + size(origin) + size(topicBytes);
    Envelope envelope = new Envelope(-(sink + 1), size, ts, 0, partition);
    int at = envelope.put(KEY, key, PARTS);
    at = envelope.put(VALUE, value, at);
    at = envelope.put(OLD, (byte[]) null, at);
    at = envelope.put(HEADERS, headers, at);
    at = envelope.put(ORIGIN, origin, at);
    envelope.put(TOPIC, topicBytes, at);
    return envelope;
  }

  /** Returns a copy of the record, for another destination. */
  public Envelope copy() {
    Envelope copy = new Envelope();
    copy.packed = packed.clone();
    return copy;
  }

  public boolean forSink() {
    return edge() < 0;
  }

  public int sink() {
    return -(edge() + 1);
  }

  /** (sub-topology, task) as one number, by which Spark groups. */
  public long getGrouping() {
    return grouping;
  }

  public void setGrouping(long grouping) {
    this.grouping = grouping;
  }

  public byte[] getPacked() {
    return packed;
  }

  public void setPacked(byte[] packed) {
    this.packed = packed;
  }

  public int edge() {
    return Platform.getInt(packed, EDGE);
  }

  /** The record's timestamp in milliseconds. */
  public long ts() {
    return Platform.getLong(packed, TS);
  }

  /** The timestamp of the old value; undefined if there is no old value. */
  public long oldTs() {
    return Platform.getLong(packed, OLD_TS);
  }

  /**
   * The source partition combined with the number of its topic, or the task of the level before.
   */
  public int source() {
    return Platform.getInt(packed, SOURCE);
  }

  /** The offset, or the sequence number within the task of the level before. */
  public long position() {
    return Platform.getLong(packed, POSITION);
  }

  /**
   * Orders several records that have the same position, if their edges do not order them; mostly 0.
   */
  public int turn() {
    return Platform.getInt(packed, TURN) & ~MERGED;
  }

  /** Returns true if all records of the task arrive in order. */
  public boolean merged() {
    return Platform.getInt(packed, TURN) < 0;
  }

  public void setMerged() {
    Platform.putInt(packed, TURN, Platform.getInt(packed, TURN) | MERGED);
  }

  public void stamp(int source, long position, int turn) {
    Platform.putInt(packed, SOURCE, source);
    Platform.putLong(packed, POSITION, position);
    Platform.putInt(packed, TURN, turn);
  }

  /** The partition to write to, or {@link #ANY_PARTITION}. */
  public int partition() {
    return Platform.getInt(packed, PARTITION);
  }

  public byte[] key() {
    return part(KEY);
  }

  public byte[] value() {
    return part(VALUE);
  }

  /** Headers as {@link Headers} encodes them; null if there are none. */
  public byte[] headers() {
    return part(HEADERS);
  }

  /** The source record that caused this one, as {@link Origin} encodes it. */
  public byte[] origin() {
    return part(ORIGIN);
  }

  /** The topic to write to; null for the sink's own topic. */
  public String topic() {
    int length = length(TOPIC);
    return length < 0 ? null : UTF8String.fromAddress(packed, start(TOPIC), length).toString();
  }

  /** Points the row at the key; returns null if there is no key. */
  public UnsafeRow keyAt(UnsafeRow row) {
    return rowAt(row, KEY);
  }

  public UnsafeRow valueAt(UnsafeRow row) {
    return rowAt(row, VALUE);
  }

  /** Points the row at the value before this change; null unless the edge carries a table. */
  public UnsafeRow oldAt(UnsafeRow row) {
    return rowAt(row, OLD);
  }

  private UnsafeRow rowAt(UnsafeRow row, int part) {
    int length = length(part);
    if (length < 0) {
      return null;
    }
    row.pointTo(packed, start(part), length);
    return row;
  }

  private byte[] part(int part) {
    int length = length(part);
    if (length < 0) {
      return null;
    }
    int from = start(part) - TS;
    return Arrays.copyOfRange(packed, from, from + length);
  }

  private int length(int part) {
    return Platform.getInt(packed, LENGTHS + part * Integer.BYTES);
  }

  private int start(int part) {
    int at = PARTS;
    for (int before = 0; before < part; before++) {
      at += Math.max(0, length(before));
    }
    return at;
  }

  private int put(int part, UnsafeRow row, int at) {
    if (row == null) {
      return put(part, (byte[]) null, at);
    }
    int length = row.getSizeInBytes();
    Platform.putInt(packed, LENGTHS + part * Integer.BYTES, length);
    row.writeToMemory(packed, at);
    return at + length;
  }

  private int put(int part, byte[] bytes, int at) {
    int length = bytes == null ? NULL_LENGTH : bytes.length;
    Platform.putInt(packed, LENGTHS + part * Integer.BYTES, length);
    if (bytes == null) {
      return at;
    }
    System.arraycopy(bytes, 0, packed, at - TS, length);
    return at + length;
  }

  private static int size(UnsafeRow row) {
    return row == null ? 0 : row.getSizeInBytes();
  }

  private static int size(byte[] bytes) {
    return bytes == null ? 0 : bytes.length;
  }
}
