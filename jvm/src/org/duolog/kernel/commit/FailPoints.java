package org.duolog.kernel.commit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Named points at which a test ends or holds this JVM, or makes a step fail, to make crashes
 * between two steps reproducible.
 *
 * <pre>
 *   DUOLOG_POINT=commits.before:3:kill:/tmp/reached   the third time that this JVM passes the point
 *
 *   kill   write the name of the point to the file, and end as by SIGKILL: no hook runs, nothing
 *          is closed
 *   hold   write it, and wait at the point until the file says "go"
 *   fail   write it, and throw the exception of a failed disk
 * </pre>
 *
 * <p>It happens once: a JVM that finds the file passes all points. Without the variable a point
 * costs nothing. {@code tests/fault/points.py} lists the names of all calls of {@link #at}.
 *
 * <p>Threads: any.
 */
public final class FailPoints {
  private static final String VARIABLE = "DUOLOG_POINT";
  private static final String GO = "go";
  private static final String KILL = "kill";
  private static final String FAIL = "fail";
  private static final Set<String> ACTIONS = Set.of(KILL, "hold", FAIL);
  private static final long LOOK_MS = 5;
  private static final int FIELDS = 4;

  /** 128 + SIGKILL. */
  private static final int STATUS = 137;

  private static final FailPoints ARMED = parse(System.getenv(VARIABLE));

  private final String name;
  private final int turn;
  private final String action;
  private final Path file;
  private final AtomicInteger passed = new AtomicInteger();

  private FailPoints(String name, int turn, String action, Path file) {
    this.name = name;
    this.turn = turn;
    this.action = action;
    this.file = file;
  }

  /** Passes a point. If a test has named it, nothing after it may happen. */
  public static void at(String name) {
    if (ARMED != null && ARMED.name.equals(name) && ARMED.passed.incrementAndGet() == ARMED.turn) {
      ARMED.reach();
    }
  }

  private static FailPoints parse(String text) {
    if (text == null || text.isEmpty()) {
      return null;
    }
    String[] fields = text.split(":", FIELDS);
    if (!ACTIONS.contains(fields[2])) {
      throw new IllegalArgumentException(VARIABLE + ": none of " + ACTIONS + ": " + text);
    }
    Path file = Path.of(fields[3]);
    return Files.exists(file)
        ? null
        : new FailPoints(fields[0], Integer.parseInt(fields[1]), fields[2], file);
  }

  private void reach() {
    try {
      Files.writeString(file, name, StandardOpenOption.CREATE_NEW);
      if (action.equals(KILL)) {
        Runtime.getRuntime().halt(STATUS);
      }
      if (action.equals(FAIL)) {
        throw new IOException("Input/output error");
      }
      while (!isReleased()) {
        Thread.sleep(LOOK_MS);
      }
    } catch (FileAlreadyExistsException nobodyWaitsForIt) {
      // The test has released all points.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean isReleased() throws IOException {
    try {
      return Files.readString(file).equals(GO);
    } catch (NoSuchFileException theTestHasEnded) {
      return true;
    }
  }
}
