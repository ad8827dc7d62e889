package org.duolog.kernel.record;

import java.io.Serializable;

/**
 * A record as Kafka's source delivers it. The topic is set only if the source has several topics.
 *
 * <p>Threads: not shared.
 */
public final class SourceRecord implements Serializable {
  /** The offset of a row that is not a record: it only returns control to the task. */
  public static final long NO_OFFSET = -1;

  private static final long serialVersionUID = 1L;

  private byte[] key;
  private byte[] value;
  private int partition;
  private long offset;
  private long ts;
  private byte[] headers;
  private String topic;

  public SourceRecord() {}

  public SourceRecord(
      byte[] key, byte[] value, int partition, long offset, long ts, byte[] headers) {
    this.key = key;
    this.value = value;
    this.partition = partition;
    this.offset = offset;
    this.ts = ts;
    this.headers = headers;
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

  public int getPartition() {
    return partition;
  }

  public void setPartition(int partition) {
    this.partition = partition;
  }

  public long getOffset() {
    return offset;
  }

  public void setOffset(long offset) {
    this.offset = offset;
  }

  public long getTs() {
    return ts;
  }

  public void setTs(long ts) {
    this.ts = ts;
  }

  /** The topic; null if the source has only one. */
  public String getTopic() {
    return topic;
  }

  public void setTopic(String topic) {
    this.topic = topic;
  }

  /** Headers as {@link Headers} encodes them; null if there are none. */
  public byte[] getHeaders() {
    return headers;
  }

  public void setHeaders(byte[] headers) {
    this.headers = headers;
  }
}
