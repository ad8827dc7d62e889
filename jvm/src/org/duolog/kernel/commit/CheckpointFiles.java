package org.duolog.kernel.commit;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager;

/**
 * Writes the files of a checkpoint for Spark: under a temporary name, which is replaced with the
 * file's own name at the end.
 *
 * <p>On a local disk Spark's own code does this, with {@link LocalFiles} below it. On a remote file
 * system this class does the work of {@link LocalFiles}: it does not write to a checkpoint that
 * another process has taken over, writes entries of Spark's logs together with everything that
 * belongs to them ({@link EntryRename}), and names the file in errors. Each file is durable when it
 * is closed ({@code SYNC_BLOCK}). The rename never overwrites unless Spark asks for that: if two
 * processes write one entry, the second fails.
 *
 * <p>This is {@code spark.sql.streaming.checkpointFileManagerClass}. Threads: any.
 */
public final class CheckpointFiles extends FileContextBasedCheckpointFileManager {
  private static final EnumSet<CreateFlag> DURABLE =
      EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE, CreateFlag.SYNC_BLOCK);

  private final boolean isRemote;
  private final FileContext context;

  /** Called by Spark, with exactly these parameters. */
  public CheckpointFiles(Path path, Configuration conf) throws IOException {
    super(path, conf);
    isRemote = Remote.is(Remote.of(path));
    context = isRemote ? FileContext.getFileContext(path.toUri(), conf) : null;
  }

  @Override
  public FSDataOutputStream createTempFile(Path path) {
    if (!isRemote) {
      return super.createTempFile(path);
    }
    try {
      ensureOwned(path);
      return new FSDataOutputStream(new Named(create(path), path), null);
    } catch (IOException e) {
      throw thrown(e);
    }
  }

  private FSDataOutputStream create(Path path) throws IOException {
    try {
      return context.create(path, DURABLE);
    } catch (IOException e) {
      throw named(path, e);
    }
  }

  @Override
  public void renameTempFile(Path from, Path to, boolean overwrites) {
    java.nio.file.Path entry = Remote.of(to);
    Checkpoint checkpoint = isRemote ? Checkpoint.of(entry) : null;
    if (checkpoint == null) {
      super.renameTempFile(from, to, overwrites);
      return;
    }
    try {
      EntryRename.through(
          checkpoint,
          Remote.of(from),
          entry,
          () -> {
            super.renameTempFile(from, to, overwrites);
            return true;
          });
    } catch (IOException e) {
      throw thrown(e);
    }
  }

  @Override
  public void delete(Path path) {
    if (isRemote) {
      try {
        ensureOwned(path);
      } catch (IOException e) {
        throw thrown(e);
      }
    }
    super.delete(path);
  }

  private static void ensureOwned(Path path) throws IOException {
    Checkpoint checkpoint = Checkpoint.of(Remote.of(path));
    if (checkpoint != null) {
      checkpoint.ensureRecentlyOwned();
    }
  }

  /** Scala's methods throw checked exceptions without declaring them. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException thrown(Throwable e) throws E {
    throw (E) e;
  }

  private static IOException named(Path path, IOException e) {
    return e instanceof ParentNotDirectoryException
            || e instanceof java.io.InterruptedIOException
            || e instanceof java.nio.channels.ClosedByInterruptException
            || e instanceof LocalFiles.NotWrittenException
        ? e
        : new LocalFiles.NotWrittenException(Remote.of(path), e);
  }

  /** Names the file in errors. */
  private static final class Named extends FilterOutputStream {
    private final Path path;

    Named(OutputStream out, Path path) {
      super(out);
      this.path = path;
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      try {
        out.write(bytes, from, length);
      } catch (IOException e) {
        throw named(path, e);
      }
    }

    @Override
    public void close() throws IOException {
      try {
        out.close();
      } catch (IOException e) {
        throw named(path, e);
      }
    }
  }
}
