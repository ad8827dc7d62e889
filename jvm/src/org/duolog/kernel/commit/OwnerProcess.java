package org.duolog.kernel.commit;

/**
 * The process that a person stops to stop this application: the Python process that started this
 * JVM, or this JVM if none did. Another owner of the same name reads its id in the owner marker.
 *
 * <p>Threads: any.
 */
public final class OwnerProcess {
  private static volatile long pid = ProcessHandle.current().pid();

  private OwnerProcess() {}

  static long pid() {
    return pid;
  }

  public static void set(long pid) {
    OwnerProcess.pid = pid;
  }
}
