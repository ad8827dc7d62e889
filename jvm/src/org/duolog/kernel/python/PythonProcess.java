package org.duolog.kernel.python;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.duolog.kernel.record.RecordFailedException;
import org.duolog.kernel.spec.Spec;

/**
 * The process of a Python worker: starts it, copies what it prints to {@link PythonOutput}, and
 * ends it. Threads: any.
 */
final class PythonProcess {
  private static final long LAST_MOMENT_MS = 2_000;
  private static final ExecutorService STARTER =
      Executors.newSingleThreadExecutor(
          work -> {
            Thread thread = new Thread(work, "duolog-python-starter");
            thread.setDaemon(true);
            return thread;
          });

  private final Process process;

  PythonProcess(Spec.WorkerCommand command) {
    ProcessBuilder builder = new ProcessBuilder(command.line());
    builder.directory(new File(command.directory()));
    builder.environment().putAll(command.environment());
    process = started(builder);
    daemon("duolog-python-output", this::readOutput);
  }

  /**
   * Starts a process in a thread that lives as long as this JVM: the process ends when its parent
   * thread does.
   */
  private static Process started(ProcessBuilder builder) {
    Future<Process> starting = STARTER.submit(builder::start);
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          return starting.get();
        } catch (InterruptedException stopping) {
          isInterrupted = true; // The caller must take the process, or it would never be ended.
        } catch (ExecutionException e) {
          String why = e.getCause().getMessage();
          throw new RecordFailedException(
              "cannot start Python for functions: " + why, e.getCause());
        }
      }
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  static void daemon(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void readOutput() {
    try (Reader output =
        new BufferedReader(
            new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
      PythonOutput.addAll(output);
    } catch (IOException e) {
      // It has ended.
    }
  }

  /** Returns the stream of its replies. */
  InputStream replies() {
    return process.getInputStream();
  }

  /** Returns the stream of requests to it. */
  OutputStream requests() {
    return process.getOutputStream();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Returns how the process ended after it closed its output; kills it if it is alive. */
  String howItEnded() {
    awaitLastMoment();
    String how = process.isAlive() ? "closed its output" : "exit status " + process.exitValue();
    kill();
    return how;
  }

  /** Waits a short time for a process whose input was closed. */
  void awaitEnd() {
    awaitLastMoment();
    kill();
  }

  private void awaitLastMoment() {
    try {
      process.waitFor(LAST_MOMENT_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
  }

  /** Kills the process with all processes that functions have started. */
  void kill() {
    if (process.isAlive()) {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }
}
