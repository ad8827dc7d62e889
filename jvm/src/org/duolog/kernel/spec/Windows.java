package org.duolog.kernel.spec;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** Windows of time: those that a record is in follow from its timestamp alone. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
@JsonSubTypes({
  @JsonSubTypes.Type(value = HoppingWindows.class, name = "hopping"),
  @JsonSubTypes.Type(value = CalendarWindows.class, name = "calendar"),
  @JsonSubTypes.Type(value = UnlimitedWindows.class, name = "unlimited")
})
public interface Windows extends Closing {
  /** The start of the first window that holds a timestamp; above the timestamp where none does. */
  long firstStart(long ts);

  /** The start of the last window that has begun by a timestamp, wherever its records are. */
  long lastStart(long ts);

  /** The start of the window behind the one that starts here; not above it where there is none. */
  long nextStart(long start);

  /** The end of the window that starts here, the first millisecond behind it. */
  long end(long start);

  /** No window ends before it begins, wherever its records put it. */
  static long end(long start, long sizeMs) {
    return start > Long.MAX_VALUE - sizeMs ? Long.MAX_VALUE : start + sizeMs;
  }

  @Override
  default boolean bucketsByEnd() {
    return false;
  }
}
