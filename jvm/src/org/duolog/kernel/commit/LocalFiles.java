package org.duolog.kernel.commit;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FSError;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, but durable, fenced, and without a child process for each file.
 *
 * <p>Hadoop's own implementation syncs nothing. This one makes files durable before the entry in
 * Spark's offset or commit log that refers to them, in a {@link Checkpoint} that this JVM owns;
 * elsewhere when a file is closed or renamed. It does not write to a checkpoint that another
 * process has taken over.
 *
 * <p>Without Hadoop's native library, which PySpark does not have, Hadoop runs {@code chmod} for
 * each file that it creates and {@code readlink} for each that it renames: 50 processes at each
 * commit of a query with two levels. Java can do both itself. The format of files and checksums is
 * unchanged.
 *
 * <p>This is {@code fs.file.impl}; {@link Context} is {@code fs.AbstractFileSystem.file.impl},
 * which Spark's checkpoints use. Threads: any.
 */
public final class LocalFiles extends LocalFileSystem {
  /** A message of java.io's streams: a path, and the system's reason. */
  private static final Pattern REASON = Pattern.compile(".* \\(([^()]+)\\)", Pattern.DOTALL);

  private static final Set<String> OF_THE_CALLER =
      Set.of("No such file or directory", "Is a directory", "Not a directory", "File exists");

  public LocalFiles() {
    super(new Raw());
  }

  /** The same for Hadoop's FileContext. */
  public static final class Context extends ChecksumFs {

    /** Called by Hadoop, with exactly these parameters. */
    Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
      super(new RawContext(conf));
    }
  }

  private static final class RawContext extends DelegateToFileSystem {

    RawContext(Configuration conf) throws IOException, URISyntaxException {
      super(
          FsConstants.LOCAL_FS_URI, new Raw(), conf, FsConstants.LOCAL_FS_URI.getScheme(), false);
    }

    @Override
    public int getUriDefaultPort() {
      return -1;
    }

    @Override
    public boolean isValidName(String path) {
      return true;
    }
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    protected OutputStream createOutputStream(Path path, boolean append) throws IOException {
      ensureOwned(path);
      try {
        return new Synced(super.createOutputStream(path, append), local(path));
      } catch (IOException refused) {
        throw named(local(path), refused);
      }
    }

    @Override
    protected OutputStream createOutputStreamWithMode(
        Path path, boolean append, FsPermission permission) throws IOException {
      ensureOwned(path);
      try {
        return new Synced(
            super.createOutputStreamWithMode(path, append, permission), local(path));
      } catch (IOException refused) {
        throw named(local(path), refused);
      }
    }

    @Override
    public boolean rename(Path from, Path to) throws IOException {
      Checkpoint checkpoint = Checkpoint.of(local(to));
      if (checkpoint == null) {
        boolean renamed = super.rename(from, to);
        PendingSyncs.sync(local(to).getParent());
        return renamed;
      }
      return EntryRename.through(
          checkpoint, local(from), local(to), () -> super.rename(from, to));
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
      ensureOwned(path);
      Checkpoint checkpoint = Checkpoint.of(local(path));
      if (checkpoint != null) {
        checkpoint.unsynced().remove(local(path));
      }
      return super.delete(path, recursive);
    }

    @Override
    protected boolean mkOneDirWithMode(Path path, File directory, FsPermission permission)
        throws IOException {
      boolean made = super.mkOneDirWithMode(path, directory, permission);
      if (made) {
        madeIn(directory.toPath().toAbsolutePath().getParent());
      } else if (!directory.exists()) {
        explain(directory.toPath());
      }
      return made;
    }

    /**
     * Throws the system's reason why a directory cannot be created, which java.io.File does not
     * report.
     */
    private static void explain(java.nio.file.Path directory) throws IOException {
      try {
        Files.createDirectory(directory);
      } catch (FileAlreadyExistsException made) {
        return; // created by another thread
      } catch (IOException refused) {
        throw named(directory, refused);
      }
      Files.delete(directory);
    }

    private void ensureOwned(Path path) throws IOException {
      Checkpoint checkpoint = Checkpoint.of(local(path));
      if (checkpoint != null) {
        checkpoint.ensureRecentlyOwned();
      }
    }

    private java.nio.file.Path local(Path path) {
      return pathToFile(path).toPath();
    }

    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      var view =
          Files.getFileAttributeView(pathToFile(path).toPath(), PosixFileAttributeView.class);
      if (view == null || permission.getStickyBit()) {
        super.setPermission(path, permission);
        return;
      }
      view.setPermissions(PosixFilePermissions.fromString(permission.toString()));
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
      return Files.isSymbolicLink(pathToFile(path).toPath())
          ? super.getFileLinkStatus(path)
          : getFileStatus(path);
    }
  }

  /** A file that is durable, or registered to be synced, once it is closed. */
  private static final class Synced extends FilterOutputStream {
    private final java.nio.file.Path path;

    Synced(OutputStream out, java.nio.file.Path path) {
      super(out);
      this.path = path;
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      try {
        out.write(bytes, from, length);
      } catch (IOException | FSError e) { // Hadoop throws an Error if the system refuses a write.
        throw new NotWrittenException(path, e);
      }
    }

    @Override
    public void close() throws IOException {
      try {
        out.close();
      } catch (IOException | FSError e) {
        throw new NotWrittenException(path, e);
      }
      Checkpoint checkpoint = Checkpoint.of(path);
      if (checkpoint != null) {
        written(checkpoint, path);
      } else {
        PendingSyncs.sync(path);
      }
    }
  }

  /** The system has refused to write to a file, in an error without a file name. */
  static final class NotWrittenException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Has no cause: users see the message of the innermost exception. */
    NotWrittenException(java.nio.file.Path path, Throwable e) {
      this(path, reason(e), e);
    }

    NotWrittenException(java.nio.file.Path path, String reason, Throwable e) {
      super("cannot write " + Remote.text(path) + ": " + reason);
      addSuppressed(e);
    }

    private static String reason(Throwable e) {
      return e.getCause() == null ? e.getMessage() : reason(e.getCause());
    }
  }

  /**
   * Returns the exception for a local file or directory that cannot be created or written: with its
   * name, if the system has refused the operation.
   *
   * <p>Existing files and missing directories are distinguished by the class of the exception,
   * which is kept.
   */
  static IOException named(java.nio.file.Path path, IOException e) {
    String reason = null;
    if (e instanceof AccessDeniedException) {
      reason = "Permission denied";
    } else if (e instanceof FileSystemException refused) {
      reason = refused.getReason();
    } else if (e instanceof FileNotFoundException) {
      Matcher found = REASON.matcher(String.valueOf(e.getMessage()));
      reason = found.matches() ? found.group(1) : null;
    } else if (e.getClass() == IOException.class) {
      reason = e.getMessage();
    }
    return reason == null || OF_THE_CALLER.contains(reason)
        ? e
        : new NotWrittenException(path, reason, e);
  }

  private static void written(Checkpoint checkpoint, java.nio.file.Path path) {
    checkpoint.unsynced().add(path);
    checkpoint.unsynced().add(path.getParent());
  }

  private static void madeIn(java.nio.file.Path directory) throws IOException {
    Checkpoint checkpoint = Checkpoint.of(directory);
    if (checkpoint != null) {
      checkpoint.unsynced().add(directory);
    } else {
      PendingSyncs.sync(directory);
    }
  }
}
