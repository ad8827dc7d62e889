package org.duolog.kernel.functions;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Failures of calls that return null instead, since the last {@link #take} of this thread.
 *
 * <p>An expression does not know its record. It adds a note here, and the context of the task
 * reports the notes with the record that was processed. Notes of expressions that belong to no
 * record are limited in number and are reported with the next record of the thread, so a new
 * context drops them when it starts. Threads: any; each has its own notes.
 */
public final class CallNotes {
  /** More failures of one record, such as one for each element of an array, are not reported. */
  static final int OF_A_RECORD_MAX = 16;

  private static final int TEXT_MAX = 500;
  private static final ThreadLocal<List<Note>> NOTES = ThreadLocal.withInitial(ArrayList::new);

  private CallNotes() {}

  /**
   * A failure; formatted only if it is reported. Without an exception the reason is the whole text.
   */
  private record Note(String call, String told, Exception failure) {
    private String text() {
      String reason = failure == null ? told : reason(failure);
      String text = call.isEmpty() ? reason : call + ": " + reason;
      return text.length() <= TEXT_MAX ? text : text.substring(0, TEXT_MAX) + "…";
    }
  }

  /**
   * Notes that a call has failed. Spark's generated code calls this.
   *
   * @param call the name of the function; empty if there is none
   */
  public static void add(String call, Exception failure) {
    add(new Note(call, "", failure));
  }

  /** Notes that a call has failed for a reason that says all. */
  public static void add(String reason) {
    add(new Note("", reason, null));
  }

  private static void add(Note note) {
    List<Note> notes = NOTES.get();
    if (notes.size() < OF_A_RECORD_MAX) {
      notes.add(note);
    }
  }

  /** Returns the distinct failures, and forgets them. */
  public static List<String> take() {
    List<Note> notes = NOTES.get();
    if (notes.isEmpty()) {
      return List.of();
    }
    Set<String> texts = new LinkedHashSet<>();
    notes.forEach(note -> texts.add(note.text()));
    notes.clear();
    return List.copyOf(texts);
  }

  /** The number of notes so far, for {@link #forgetAfter}. */
  public static int count() {
    return NOTES.get().size();
  }

  /** Forgets the notes after the first {@code count}: they were reported when their row was new. */
  public static void forgetAfter(int count) {
    List<Note> notes = NOTES.get();
    if (notes.size() > count) {
      notes.subList(count, notes.size()).clear();
    }
  }

  /** The reason of a failure in one line. */
  public static String reason(Exception cause) {
    String message = cause.getMessage() == null ? "" : cause.getMessage().strip();
    String name = cause.getClass().getSimpleName();
    return message.isEmpty() ? name : name + ": " + message.lines().findFirst().orElse("");
  }
}
