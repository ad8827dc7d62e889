package org.duolog.kernel.topology;

import java.io.Serializable;

/**
 * An entry of a store for a fresh checkpoint. To Spark it is a bean.
 *
 * <p>Threads: not shared.
 */
public final class InitialEntry implements Serializable {
  private static final long serialVersionUID = 1L;

  private long grouping;
  private long number;
  private String store;
  private byte[] key;
  private byte[] value;

  public InitialEntry() {}

  public InitialEntry(long grouping, long number, String store, byte[] key, byte[] value) {
    this.grouping = grouping;
    this.number = number;
    this.store = store;
    this.key = key;
    this.value = value;
  }

  /** The grouping number of the task that has the store. */
  public long getGrouping() {
    return grouping;
  }

  public void setGrouping(long grouping) {
    this.grouping = grouping;
  }

  /** The number under which Spark keeps the entry: that of the task, or of one of its buckets. */
  public long getNumber() {
    return number;
  }

  public void setNumber(long number) {
    this.number = number;
  }

  public String getStore() {
    return store;
  }

  public void setStore(String store) {
    this.store = store;
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
}
