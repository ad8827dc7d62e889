package org.duolog.kernel;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import org.duolog.kernel.commit.OwnerProcess;

/**
 * Ends this JVM with the process that started it.
 *
 * <p>A gateway reads the end of its standard input and ends in order: its shutdown hooks stop queries, for
 * minutes on a machine that is busy, and these go on writing meanwhile. Who was killed has told nobody to wait
 * for that, and the next owner of a checkpoint is waiting for its lock. So the JVM is halted: what is on disk
 * is what a crash leaves, which every start expects.
 *
 * <p>The system gives an orphan another parent at once, also while the dead one is not waited for yet;
 * {@code ProcessHandle.onExit} of a process that is no child looks less and less often, up to every five seconds.
 *
 * <p>Threads: one of its own.
 */
public final class ParentWatch {
  private static final long LOOK_MS = 250;

  /** 128 + SIGKILL: what a shell tells of the parent. */
  private static final int STATUS = 137;

  private static volatile boolean ended;

  private ParentWatch() {}

  /**
   * Lets this JVM outlive its parent: it has nothing to do any more but to end, which may take it a while. The heap is
   * given back to the system as far as the collector gives: it was of the size that the queries needed. ParallelGC does
   * so in the first collection only, and with the option of {@code class_archive.SHRINKS}.
   */
  public static void end() {
    ended = true;
    HotSpotDiagnosticMXBean machine =
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
    // The least first: it must never be above the most.
    machine.setVMOption("MinHeapFreeRatio", "0");
    machine.setVMOption("MaxHeapFreeRatio", "5");
    System.gc();
  }

  /** Halts this JVM when {@code parent} is not its parent, from now on. */
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
