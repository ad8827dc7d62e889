package org.duolog.kernel.commit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The log entry of an epoch as Spark is to write it, kept for a start that finds the epoch
 * committed but the entry missing.
 *
 * <pre>
 *   duolog-prepared 1 SHA-256 of all that follows, in hexadecimal digits
 *   the entry, as Spark has written it
 * </pre>
 *
 * <p>{@code engine/checkpoint/pending_commit.py} reads it. Threads: any.
 */
final class PreparedEntry {
  private static final String HEAD = "duolog-prepared 1 ";

  private PreparedEntry() {}

  /**
   * Copies an entry to {@code to}, which is not durable yet on a local disk; returns its SHA-256.
   */
  static String write(Path entry, Path to) throws IOException {
    byte[] content = Remote.read(entry);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    String digest = digest(content);
    out.write((HEAD + digest + "\n").getBytes(StandardCharsets.US_ASCII));
    out.write(content);
    Remote.write(to, out.toByteArray());
    return digest;
  }

  private static String digest(byte[] content) {
    try {
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    } catch (NoSuchAlgorithmException never) {
      throw new IllegalStateException(never); // Every Java runtime has it.
    }
  }
}
