package org.apache.kafka.streams.kstream.internals;

import org.apache.kafka.streams.kstream.KTable;

/** Asks a table for the old values of its changes, as a regroup of it would. */
public final class OldValues {
  private OldValues() {}

  public static <K, V> KTable<K, V> sent(KTable<K, V> table) {
    ((KTableImpl<?, ?, ?>) table).enableSendingOldValues(true);
    return table;
  }
}
