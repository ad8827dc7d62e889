package org.duolog.kernel;

import java.io.Serializable;

/**
 * A record on its way from one level to the next, or to a sink.
 *
 * <p>A bean, because Spark compiles a bean's encoder to plain field access without boxing. Key,
 * value and old are the bytes of an UnsafeRow on the way to an edge, and Kafka's bytes on the way to
 * a sink. {@code edge >= 0} is an edge id; {@code edge < 0} is sink {@code -(edge + 1)}.
 *
 * <p>Threads: not shared.
 */
public final class Envelope implements Serializable {
  private static final long serialVersionUID = 1L;

  private long grouping;
  private int edge;
  private long ts;
  private int source;
  private long position;
  private byte[] key;
  private byte[] value;
  private byte[] old;

  public Envelope() {}

  Envelope(int edge, byte[] key, byte[] value, byte[] old, long ts) {
    this.edge = edge;
    this.key = key;
    this.value = value;
    this.old = old;
    this.ts = ts;
  }

  static int edgeOfSink(int sink) {
    return -(sink + 1);
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
}
