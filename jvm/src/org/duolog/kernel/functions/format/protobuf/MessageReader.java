package org.duolog.kernel.functions.format.protobuf;

import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * Reads one message as a row, or as the value that it stands for. Made once for a message and the
 * columns; a field is found by its number.
 *
 * <pre>
 *   start    slots with the defaults of fields that have no presence
 *   merge    the fields of one occurrence, into the slots: of several, the last value counts, and
 *            repeated fields and messages are added to what is there
 *   finish   slots to values: growing lists to arrays, slots of messages to rows
 * </pre>
 *
 * <p>A field that is not read is checked nevertheless, as Protobuf's own libraries do; an unknown
 * field is skipped. Threads: any, once made.
 */
final class MessageReader {
  private static final int DIRECT_MAX = 256;
  private static final Object[] NOTHING = {};

  private final FieldReader[] direct = new FieldReader[DIRECT_MAX];
  private final Map<Integer, FieldReader> others = new HashMap<>();
  private final List<Integer> open = new ArrayList<>();
  private final List<Finisher> finishers = new ArrayList<>();
  private Object[] blank = NOTHING;
  private int[] openSlots = {};
  private Finisher[] slotFinishers = {};
  private Finisher whole = slots -> new GenericInternalRow((Object[]) slots);

  /** Reads one occurrence of a field, whose tag has been read. */
  interface FieldReader {
    /** Returns false if the wire type is not the field's: then it is an unknown field. */
    boolean read(int wireType, WireInput in, Object[] slots);
  }

  /** Converts what is in a slot, or all slots of a message, to a value. */
  interface Finisher {
    Object finish(Object slot);
  }

  /** Sets the slots before a message is read. */
  void startWith(Object[] slots) {
    blank = slots;
  }

  /** Replaces a row by another value of the slots. */
  void finishWith(Finisher finisher) {
    whole = finisher;
  }

  /** Converts a slot at the end, unless it is null. */
  void finish(int slot, Finisher finisher) {
    open.add(slot);
    finishers.add(finisher);
    openSlots = open.stream().mapToInt(Integer::intValue).toArray();
    slotFinishers = finishers.toArray(Finisher[]::new);
  }

  /** Adds a reader for a field; several may read the same one, one after the other. */
  void add(int number, FieldReader reader) {
    FieldReader before = at(number);
    FieldReader both = before == null ? reader : both(before, reader);
    if (number < DIRECT_MAX) {
      direct[number] = both;
    } else {
      others.put(number, both);
    }
  }

  boolean reads(int number) {
    return at(number) != null;
  }

  private FieldReader at(int number) {
    return number < DIRECT_MAX ? direct[number] : others.get(number);
  }

  private static FieldReader both(FieldReader one, FieldReader other) {
    return (wireType, in, slots) -> {
      int from = in.at();
      boolean isRead = one.read(wireType, in, slots);
      if (isRead) {
        in.back(from);
      }
      return other.read(wireType, in, slots) || isRead;
    };
  }

  Object[] start() {
    return blank.clone();
  }

  /** Reads the rest of the bytes as a message. */
  Object whole(WireInput in) {
    Object[] slots = start();
    merge(in, slots, 0);
    return finish(slots);
  }

  /**
   * Reads the value of a field that is this message.
   *
   * @param number the number of the field, for a group
   */
  void nested(int wireType, int number, WireInput in, Object[] slots) {
    in.descend();
    if (wireType == WireInput.GROUP) {
      merge(in, slots, number);
    } else {
      int outer = in.enter();
      merge(in, slots, 0);
      in.leave(outer);
    }
    in.ascend();
  }

  private void merge(WireInput in, Object[] slots, int group) {
    while (!in.isAtEnd()) {
      int tag = in.tag();
      int wireType = tag & WireInput.TYPE_MASK;
      int number = tag >>> WireInput.TYPE_BITS;
      if (wireType == WireInput.END_GROUP) {
        if (number == group) {
          return;
        }
        throw in.wrong("a group ends that has not started");
      }
      FieldReader field = at(number);
      if (field == null || !field.read(wireType, in, slots)) {
        in.skip(tag);
      }
    }
    if (group != 0) {
      throw in.wrong("a group does not end");
    }
  }

  Object finish(Object[] slots) {
    for (int i = 0; i < openSlots.length; i++) {
      int slot = openSlots[i];
      if (slots[slot] != null) {
        slots[slot] = slotFinishers[i].finish(slots[slot]);
      }
    }
    try {
      return whole.finish(slots);
    } catch (ArithmeticException | DateTimeException e) {
      throw new SerializationException("a value is out of range: " + e.getMessage(), e);
    }
  }
}
