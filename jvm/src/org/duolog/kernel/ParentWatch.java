package org.duolog.kernel;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import org.duolog.kernel.commit.OwnerProcess;

/**
 * Ends this JVM with the process that started it.
 *
 * <p>Spark's gateway ends in order when its standard input is closed: its shutdown hooks stop
 * queries, which takes minutes on a busy machine, and the queries keep writing meanwhile. If the
 * parent was killed, nothing waits for that, and the next owner of the checkpoint waits for its
 * lock. So the JVM is halted. What is on disk then is what a crash leaves, which every start
 * handles.
 *
 * <p>The system gives an orphan another parent at once, even before the dead process is reaped.
 * {@code ProcessHandle.onExit} of a process that is not a child polls ever less often, up to every
 * five seconds.
 *
 * <p>Threads: one of its own.
 */
public final class ParentWatch {
  private static final long LOOK_MS = 250;

  /** 128 + SIGKILL, the exit status that a shell reports for the parent. */
  private static final int STATUS = 137;

  private static volatile boolean ended;

  private ParentWatch() {}

  /**
   * Lets this JVM outlive its parent when it only has to shut down, which may take a while. Returns
   * as much of the heap to the system as possible. ParallelGC does so only in the first collection,
   * and only with the option of {@code class_archive.SHRINKS}.
   */
  public static void end() {
    ended = true;
    HotSpotDiagnosticMXBean machine =
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    // The minimum first: it must never exceed the maximum.
    machine.setVMOption("MinHeapFreeRatio", "0");
    machine.setVMOption("MaxHeapFreeRatio", "5");
    System.gc();
  }

  /** Halts this JVM as soon as {@code parent} is not its parent. */
  public static void begin(long parent) {
    OwnerProcess.set(parent);
    Thread thread =
        new Thread(
            () -> {
              while (parentPid() == parent) {
                try {
                  Thread.sleep(LOOK_MS);
                } catch (InterruptedException interrupted) {
                  return;
                }
              }
              if (!ended) {
                Runtime.getRuntime().halt(STATUS);
              }
            },
            "duolog-parent-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private static long parentPid() {
    return ProcessHandle.current().parent().map(ProcessHandle::pid).orElse(-1L);
  }
}
