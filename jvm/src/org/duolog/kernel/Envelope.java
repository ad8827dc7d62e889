package org.duolog.kernel;

import java.io.Serializable;

/**
 * A record on its way from one level to the next, or to a sink.
 *
 * <p>A bean, because Spark compiles a bean's encoder to plain field access without boxing. Key,
 * value and old are the bytes of an UnsafeRow on the way to an edge, and Kafka's bytes on the way to
 * a sink. {@code edge >= 0} is an edge id; {@code edge < 0} is sink {@code -(edge + 1)}. What most
 * records have not (headers, a topic or a partition of their own) is null or {@link #ANY_PARTITION}.
 *
 * <p>Threads: not shared.
 */
public final class Envelope implements Serializable {
  private static final long serialVersionUID = 1L;

  static final int ANY_PARTITION = -1;

  private long grouping;
  private int edge;
  private long ts;
  private int source;
  private long position;
  private byte[] key;
  private byte[] value;
  private byte[] old;
  private long oldTs;
  private byte[] headers;
  private String topic;
  private int partition = ANY_PARTITION;
  private byte[] origin;

  public Envelope() {}

  private Envelope(int edge, byte[] key, byte[] value, long ts, byte[] headers) {
    this.edge = edge;
    this.key = key;
    this.value = value;
    this.ts = ts;
    this.headers = headers;
  }

  /** A record for an edge, or a change with the row before it. */
  static Envelope toEdge(int edge, byte[] key, byte[] value, byte[] old, Change of) {
    Envelope envelope = new Envelope(edge, key, value, of.ts, of.headers);
    envelope.old = old;
    envelope.oldTs = of.oldTs;
    return envelope;
  }

  /** A record for a sink's own topic and Kafka's partition of its key, until told otherwise. */
  static Envelope toSink(int sink, byte[] key, byte[] value, long ts, byte[] headers) {
    return new Envelope(-(sink + 1), key, value, ts, headers);
  }

  boolean isForSink() {
    return edge < 0;
  }

  int sink() {
    return -(edge + 1);
  }

  /** (sub-topology, task) as one number; Spark groups by it. */
  public long getGrouping() {
    return grouping;
  }

  public void setGrouping(long grouping) {
    this.grouping = grouping;
  }

  public int getEdge() {
    return edge;
  }

  public void setEdge(int edge) {
    this.edge = edge;
  }

  /** The record's timestamp in milliseconds. */
  public long getTs() {
    return ts;
  }

  public void setTs(long ts) {
    this.ts = ts;
  }

  /** The source partition, or the task of the level before. */
  public int getSource() {
    return source;
  }

  public void setSource(int source) {
    this.source = source;
  }

  /** The offset, or the running number within the task of the level before. */
  public long getPosition() {
    return position;
  }

  public void setPosition(long position) {
    this.position = position;
  }

  public byte[] getKey() {
    return key;
  }

  public void setKey(byte[] key) {
    this.key = key;
  }

  public byte[] getValue() {
    return value;
  }

  public void setValue(byte[] value) {
    this.value = value;
  }

  /** The value before this change, where the edge carries a table. */
  public byte[] getOld() {
    return old;
  }

  public void setOld(byte[] old) {
    this.old = old;
  }

  /** The timestamp of the old value; means something only where there is one. */
  public long getOldTs() {
    return oldTs;
  }

  public void setOldTs(long oldTs) {
    this.oldTs = oldTs;
  }

  /** As {@link Headers} writes them; null where there are none. */
  public byte[] getHeaders() {
    return headers;
  }

  public void setHeaders(byte[] headers) {
    this.headers = headers;
  }

  /** The topic to write to, where it is not the sink's. */
  public String getTopic() {
    return topic;
  }

  public void setTopic(String topic) {
    this.topic = topic;
  }

  /** The partition to write to, where it is not the one of the key. */
  public int getPartition() {
    return partition;
  }

  public void setPartition(int partition) {
    this.partition = partition;
  }

  /** The record of a source topic that set this one off, as {@link Origin} writes it. */
  public byte[] getOrigin() {
    return origin;
  }

  public void setOrigin(byte[] origin) {
    this.origin = origin;
  }
}
