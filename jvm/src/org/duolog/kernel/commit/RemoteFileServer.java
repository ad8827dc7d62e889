package org.duolog.kernel.commit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.PathIsNotEmptyDirectoryException;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.AccessControlException;

/**
 * Access to Hadoop's file systems for a Python process, which has no client for them: a small JVM
 * without Spark.
 *
 * <pre>
 *   first line      {"name of a setting of Hadoop's": "value"}
 *   a request       {"do": "stat" | "list" | "read" | "replace" | "create" | "mkdirs" | "rename"
 *                        | "delete", "path": URL, "to": URL, "text": …}
 *   its answer      {"found": …} or {"failed": name of an errno, "why": …}
 * </pre>
 *
 * <p>{@code engine/checkpoint/remote/door.py} is the other side. The JVM ends when its standard
 * input is closed. Threads: one.
 */
public final class RemoteFileServer {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int CAUSES_MAX = 8;

  /** Names of errno by exception class; the first match counts. */
  private static final List<Map.Entry<Class<?>, String>> NAMES =
      List.of(
          Map.entry(NoSuchFileException.class, "ENOENT"),
          Map.entry(FileAlreadyExistsException.class, "EEXIST"),
          Map.entry(PathIsNotEmptyDirectoryException.class, "ENOTEMPTY"),
          Map.entry(AccessControlException.class, "EACCES"),
          Map.entry(UnsupportedFileSystemException.class, "EPROTONOSUPPORT"),
          Map.entry(ConnectException.class, "EHOSTUNREACH"),
          Map.entry(NoRouteToHostException.class, "EHOSTUNREACH"),
          Map.entry(UnknownHostException.class, "EHOSTUNREACH"),
          Map.entry(SocketTimeoutException.class, "EHOSTUNREACH"));

  /** The same by the names of HDFS's exceptions, and by texts of messages. */
  private static final List<Map.Entry<String, String>> TEXTS =
      List.of(
          Map.entry("SafeModeException", "EROFS"),
          Map.entry("QuotaExceededException", "EDQUOT"),
          Map.entry("minReplication", "ENOSPC"),
          Map.entry("No space left", "ENOSPC"),
          Map.entry("java.net.UnknownHostException", "EHOSTUNREACH"));

  private RemoteFileServer() {}

  public static void main(String[] none) throws IOException {
    PrintStream answers =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    System.setOut(System.err); // Output of libraries must not mix with answers.
    BufferedReader requests =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Configuration configuration = new Configuration();
    MAPPER
        .readTree(requests.readLine())
        .properties()
        .forEach(one -> configuration.set(one.getKey(), one.getValue().asText()));
    Remote.configure(configuration);
    String line;
    while ((line = requests.readLine()) != null) {
      answers.println(MAPPER.writeValueAsString(answer(MAPPER.readTree(line))));
    }
  }

  private static ObjectNode answer(JsonNode request) {
    ObjectNode answer = MAPPER.createObjectNode();
    try {
      answer.set("found", done(request));
    } catch (IOException | RuntimeException e) {
      answer.put("failed", errno(e));
      answer.put("why", why(e));
    }
    return answer;
  }

  private static JsonNode done(JsonNode request) throws IOException {
    Path path = Path.of(request.path("path").asText());
    byte[] content = request.path("text").asText().getBytes(StandardCharsets.UTF_8);
    switch (request.path("do").asText()) {
      case "stat":
        FileStatus status = Remote.status(path);
        return status == null ? MAPPER.nullNode() : rendered(status);
      case "list":
        return listed(path);
      case "read":
        return MAPPER.getNodeFactory().binaryNode(Remote.read(path));
      case "replace":
        Remote.replace(path, content);
        break;
      case "create":
        Remote.writeNew(path, content);
        break;
      case "mkdirs":
        Remote.createDirectories(path);
        break;
      case "rename":
        Remote.rename(path, Path.of(request.path("to").asText()));
        break;
      case "delete":
        Remote.deleteAll(path);
        break;
      default:
        throw new IllegalArgumentException("unknown request: " + request);
    }
    return MAPPER.nullNode();
  }

  private static JsonNode listed(Path directory) throws IOException {
    FileStatus[] found = Remote.statuses(directory);
    if (found == null) {
      return MAPPER.nullNode();
    }
    ArrayNode all = MAPPER.createArrayNode();
    for (FileStatus one : found) {
      all.add(rendered(one));
    }
    return all;
  }

  private static ObjectNode rendered(FileStatus status) {
    return MAPPER
        .createObjectNode()
        .put("name", status.getPath().getName())
        .put("directory", status.isDirectory())
        .put("bytes", status.getLen())
        .put("modified_ms", status.getModificationTime());
  }

  private static String errno(Throwable e) {
    Throwable cause = e;
    for (int link = 0; cause != null && link < CAUSES_MAX; link++, cause = cause.getCause()) {
      Throwable meant =
          cause instanceof RemoteException remote ? remote.unwrapRemoteException() : cause;
      for (Map.Entry<Class<?>, String> name : NAMES) {
        if (name.getKey().isInstance(meant)) {
          return name.getValue();
        }
      }
    }
    String text = String.valueOf(e);
    return TEXTS.stream()
        .filter(one -> text.contains(one.getKey()))
        .map(Map.Entry::getValue)
        .findFirst()
        .orElse("EIO");
  }

  /**
   * Returns the first line of an exception's message; for HDFS, without the stack trace of the
   * server.
   */
  private static String why(Throwable e) {
    String said = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    return said.lines().findFirst().orElse(said);
  }
}
