package org.duolog.kernel;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Places where a test ends or holds this JVM, by name: what a crash between two steps leaves is then no matter of
 * luck.
 *
 * <pre>
 *   DUOLOG_POINT=commits.before:3:kill:/tmp/reached     the third time that the point is passed, in this JVM
 *
 *   kill   write what was reached to the file, and end as SIGKILL ends: no hook runs, nothing is closed
 *   hold   write it, and wait at the point until the file says "go"
 * </pre>
 *
 * <p>It happens once: a JVM that finds the file passes all points. Without the variable a point costs nothing. The
 * names stand where {@link #at} is called; {@code tests/fault/points.py} lists them.
 *
 * <p>Threads: any.
 */
final class Points {
  private static final String VARIABLE = "DUOLOG_POINT";
  private static final String GO = "go";
  private static final long LOOK_MS = 5;
  private static final int FIELDS = 4;

  /** 128 + SIGKILL. */
  private static final int STATUS = 137;

  private static final Points ARMED = parse(System.getenv(VARIABLE));

  private final String name;
  private final int turn;
  private final boolean kills;
  private final Path file;
  private final AtomicInteger passed = new AtomicInteger();

  private Points(String name, int turn, boolean kills, Path file) {
    this.name = name;
    this.turn = turn;
    this.kills = kills;
    this.file = file;
  }

  /** Tells that this place is reached; where a test has named it, nothing behind it may happen any more. */
  static void at(String name) {
    if (ARMED != null && ARMED.name.equals(name) && ARMED.passed.incrementAndGet() == ARMED.turn) {
      ARMED.reach();
    }
  }

  private static Points parse(String text) {
    if (text == null || text.isEmpty()) {
      return null;
    }
    String[] fields = text.split(":", FIELDS);
    boolean kills = fields[2].equals("kill");
    if (!kills && !fields[2].equals("hold")) {
      throw new IllegalArgumentException(VARIABLE + ": neither kill nor hold: " + text);
    }
    Path file = Path.of(fields[3]);
    return Files.exists(file)
        ? null
        : new Points(fields[0], Integer.parseInt(fields[1]), kills, file);
  }

  private void reach() {
    try {
      Files.writeString(file, name, StandardOpenOption.CREATE_NEW);
      if (kills) {
        Runtime.getRuntime().halt(STATUS);
      }
      while (!saysGo()) {
        Thread.sleep(LOOK_MS);
      }
    } catch (FileAlreadyExistsException nobodyWaitsForIt) {
      // The test has let all points go.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean saysGo() throws IOException {
    try {
      return Files.readString(file).equals(GO);
    } catch (NoSuchFileException theTestHasEnded) {
      return true;
    }
  }
}
