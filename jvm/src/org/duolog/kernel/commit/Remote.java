package org.duolog.kernel.commit;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.permission.FsAction;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.SparkHadoopUtil;

/**
 * Reads and writes small files of a checkpoint, on the local disk or on a remote Hadoop file
 * system.
 *
 * <p>The kernel names both by a {@link Path}. For a URL its first name is the scheme and the second
 * the authority, as {@code Path.of} parses the URL's text: {@code hdfs:/host:8020/data} is
 * {@code hdfs://host:8020/data}. Such a path is only an identifier; this class alone accesses the
 * file that it names.
 *
 * <p>Local files are made durable by the callers, who sync many files together
 * ({@link PendingSyncs}). Remote files are durable when the call returns, as far as the file system
 * supports {@code SYNC_BLOCK} and {@code hsync}, as HDFS does. Threads: any. Source: Hadoop's
 * {@code FileContext}, whose rename and create without overwriting are atomic in HDFS.
 */
final class Remote {
  private static final String BEHIND_SCHEME = "//";
  private static volatile Configuration configuration;

  private Remote() {}

  /** Sets the configuration for a JVM without Spark. */
  static void configure(Configuration given) {
    configuration = given;
  }

  /** Returns true if a path stands for a URL. */
  static boolean is(Path path) {
    return !path.isAbsolute()
        && path.getNameCount() > 1
        && path.getName(0).toString().endsWith(":");
  }

  /** Returns the path that stands for a Hadoop path; the local path of a local file. */
  static Path of(org.apache.hadoop.fs.Path path) {
    String scheme = path.toUri().getScheme();
    return scheme == null || scheme.equals("file")
        ? Path.of(path.toUri().getPath())
        : Path.of(path.toString());
  }

  /** Returns the URL that a path stands for, or the path itself; also used in messages. */
  static String text(Path path) {
    if (!is(path)) {
      return path.toString();
    }
    String scheme = path.getName(0).toString();
    return scheme + BEHIND_SCHEME + path.subpath(1, path.getNameCount());
  }

  private static org.apache.hadoop.fs.Path hadoop(Path path) {
    return new org.apache.hadoop.fs.Path(text(path));
  }

  private static Configuration configuration() {
    Configuration known = configuration;
    if (known == null) {
      known = SparkHadoopUtil.get().newConfiguration(SparkEnv.get().conf());
      configuration = known;
    }
    return known;
  }

  private static FileSystem system(Path path) throws IOException {
    return hadoop(path).getFileSystem(configuration());
  }

  private static FileContext context(Path path) throws IOException {
    return FileContext.getFileContext(hadoop(path).toUri(), configuration());
  }

  static byte[] read(Path path) throws IOException {
    if (!is(path)) {
      return Files.readAllBytes(path);
    }
    try (FSDataInputStream in = system(path).open(hadoop(path))) {
      return in.readAllBytes();
    } catch (FileNotFoundException missing) {
      throw noSuch(path, missing);
    }
  }

  static String readString(Path path) throws IOException {
    return new String(read(path), StandardCharsets.UTF_8);
  }

  /** Writes a file, replacing an existing one. A concurrent reader may see a part of it. */
  static void write(Path path, byte[] content) throws IOException {
    if (!is(path)) {
      Files.write(path, content);
      return;
    }
    write(
        path, content, EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE, CreateFlag.SYNC_BLOCK));
  }

  /**
   * Creates a file; the directory must exist.
   *
   * @throws FileAlreadyExistsException if it exists; if two processes create it at once, one
   *     succeeds
   * @throws NoSuchFileException if the directory does not exist
   */
  static void writeNew(Path path, byte[] content) throws IOException {
    if (!is(path)) {
      Files.write(path, content, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      PendingSyncs.sync(path);
      PendingSyncs.sync(path.getParent());
      return;
    }
    try {
      write(path, content, EnumSet.of(CreateFlag.CREATE, CreateFlag.SYNC_BLOCK));
    } catch (org.apache.hadoop.fs.FileAlreadyExistsException there) {
      throw exists(path, there);
    }
  }

  private static void write(Path path, byte[] content, EnumSet<CreateFlag> flags)
      throws IOException {
    try (FSDataOutputStream out = context(path).create(hadoop(path), flags)) {
      out.write(content);
      out.hsync();
    } catch (FileNotFoundException noParent) {
      throw noSuch(path, noParent);
    }
  }

  /** Replaces the content of a file atomically: a reader sees the old content or the new. */
  static void replace(Path path, byte[] content) throws IOException {
    Path arriving =
        path.resolveSibling("." + path.getFileName() + "." + UUID.randomUUID() + ".arriving");
    try {
      write(arriving, content);
      if (is(path)) {
        context(path).rename(hadoop(arriving), hadoop(path), Rename.OVERWRITE);
      } else {
        Files.move(arriving, path, StandardCopyOption.ATOMIC_MOVE);
      }
    } catch (IOException failed) {
      try {
        deleteIfExists(arriving);
      } catch (IOException leftOver) {
        failed.addSuppressed(leftOver);
      }
      throw is(path) ? failed : LocalFiles.named(path, failed);
    }
  }

  /**
   * Renames a file or directory, without overwriting.
   *
   * @throws NoSuchFileException if it does not exist
   * @throws FileAlreadyExistsException if the new name exists
   */
  static void rename(Path from, Path to) throws IOException {
    if (!is(from)) {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
      return;
    }
    try {
      context(from).rename(hadoop(from), hadoop(to), Rename.NONE);
    } catch (FileNotFoundException missing) {
      throw noSuch(from, missing);
    } catch (org.apache.hadoop.fs.FileAlreadyExistsException there) {
      throw exists(to, there);
    }
  }

  /** Returns the paths in a directory. */
  static List<Path> list(Path directory) throws IOException {
    if (!is(directory)) {
      try (Stream<Path> found = Files.list(directory)) {
        return found.toList();
      }
    }
    List<Path> found = new ArrayList<>();
    try {
      for (FileStatus one : system(directory).listStatus(hadoop(directory))) {
        found.add(directory.resolve(one.getPath().getName()));
      }
    } catch (FileNotFoundException missing) {
      throw noSuch(directory, missing);
    }
    return found;
  }

  /** Returns the status of a file or directory; null if it does not exist. */
  static FileStatus status(Path path) throws IOException {
    try {
      return system(path).getFileStatus(hadoop(path));
    } catch (FileNotFoundException | ParentNotDirectoryException missing) {
      return null;
    }
  }

  /** Returns the statuses of all paths in a directory; null if it does not exist. */
  static FileStatus[] statuses(Path directory) throws IOException {
    try {
      return system(directory).listStatus(hadoop(directory));
    } catch (FileNotFoundException | ParentNotDirectoryException missing) {
      return null;
    }
  }

  /** Returns true if a path is known not to exist. */
  static boolean isGone(Path path) {
    if (!is(path)) {
      return Files.notExists(path);
    }
    try {
      return status(path) == null;
    } catch (IOException unknown) {
      return false;
    }
  }

  static void createDirectories(Path directory) throws IOException {
    if (is(directory)) {
      system(directory).mkdirs(hadoop(directory));
    } else {
      Files.createDirectories(directory);
    }
  }

  /** Deletes a file or an empty directory. */
  static void deleteIfExists(Path path) throws IOException {
    if (is(path)) {
      system(path).delete(hadoop(path), false);
    } else {
      Files.deleteIfExists(path);
    }
  }

  /** Deletes a file, or a directory with its contents. */
  static void deleteAll(Path path) throws IOException {
    system(path).delete(hadoop(path), true);
  }

  /** Makes the names in a directory durable; on a remote file system they already are. */
  static void sync(Path directory) throws IOException {
    if (!is(directory)) {
      PendingSyncs.sync(directory);
    }
  }

  static boolean isWritable(Path directory) throws IOException {
    if (!is(directory)) {
      return Files.isWritable(directory);
    }
    try {
      system(directory).access(hadoop(directory), FsAction.WRITE_EXECUTE);
      return true;
    } catch (org.apache.hadoop.security.AccessControlException refused) {
      return false;
    }
  }

  private static NoSuchFileException noSuch(Path path, IOException cause) {
    NoSuchFileException missing = new NoSuchFileException(text(path));
    missing.initCause(cause);
    return missing;
  }

  private static FileAlreadyExistsException exists(Path path, IOException cause) {
    FileAlreadyExistsException there = new FileAlreadyExistsException(text(path));
    there.initCause(cause);
    return there;
  }
}
