package org.duolog.kernel.spec;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;

/** Time windows that are determined by a record's timestamp alone. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
@JsonSubTypes({
  @JsonSubTypes.Type(value = HoppingWindows.class, name = "hopping"),
  @JsonSubTypes.Type(value = CalendarWindows.class, name = "calendar"),
  @JsonSubTypes.Type(value = UnlimitedWindows.class, name = "unlimited")
})
public interface Windows extends Closing {
  /**
   * Returns the start of the first window that contains a timestamp; a value above the timestamp if
   * none does.
   */
  long firstStart(long ts);

  /**
   * Returns the start of the last window that has started at a timestamp, whether or not it has
   * records.
   */
  long lastStart(long ts);

  /**
   * Returns the start of the window after the one that starts here; a value that is not above it if
   * there is none.
   */
  long nextStart(long start);

  /** Returns the exclusive end of the window that starts here. */
  long end(long start);

  /** Returns the end without overflow: no window ends before it starts. */
  static long end(long start, long sizeMs) {
    return start > Long.MAX_VALUE - sizeMs ? Long.MAX_VALUE : start + sizeMs;
  }

  @Override
  default boolean bucketsByEnd() {
    return false;
  }
}
