package org.duolog.kernel;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, without a child process for each file.
 *
 * <p>Without Hadoop's native library (PySpark has none) it runs {@code chmod} for each file that it
 * creates and {@code readlink} for each that it renames: 50 processes at each commit of a query
 * with two levels. Java can do both itself. Files and their checksums are as before.
 *
 * <p>This is {@code fs.file.impl}; {@link Context} is {@code fs.AbstractFileSystem.file.impl}, which
 * Spark's checkpoints use. Threads: any.
 */
public final class LocalFiles extends LocalFileSystem {

  public LocalFiles() {
    super(new Raw());
  }

  /** The same for Hadoop's FileContext. */
  public static final class Context extends ChecksumFs {

    /** Called by Hadoop, which wants just these parameters. */
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
}
