package org.duolog.kernel.functions.format.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.duolog.kernel.functions.format.protobuf.Protobuf;

/**
 * Reads bytes in one format and writes their rows in another one. Its argument is a JSON object:
 *
 * <pre>
 *   properties   system properties
 *   answers      answers of a registry by path, each a list of [status, body]; the last one is kept
 *   steps        objects {"from", "read", "to", "write", "columns", "data"}: names and options of
 *                both formats, columns as DDL, bytes as hexadecimal digits. In options,
 *                mock://registry is the address of the registry
 * </pre>
 *
 * <p>Prints a word for each of the bytes: {@code =} and the bytes written, {@code null} for none,
 * {@code !} and the message of a bad record or row, {@code ?} and that of a registry that is away;
 * then {@code @} and the path of each request. Everything after the first character is in
 * hexadecimal digits.
 */
public final class SchemaConversions {
  private static final HexFormat HEX = HexFormat.of();
  private static final Map<String, SchemaFormat> FORMATS =
      Map.of(
          "AVRO", new Avro(),
          "JSON_SR", new JsonSr(),
          "PROTOBUF", new Protobuf(),
          "PROTOBUF_NOSR", new Protobuf.Plain());
  private static final byte[] UNKNOWN = "{\"error_code\": 40403}".getBytes(StandardCharsets.UTF_8);

  private final List<String> asked = new ArrayList<>();
  private final Map<String, Integer> counts = new HashMap<>();
  private final JsonNode given;

  private SchemaConversions(JsonNode given) {
    this.given = given;
  }

  public static void main(String[] arguments) throws IOException {
    JsonNode given = new ObjectMapper().readTree(arguments[0]);
    given
        .get("properties")
        .properties()
        .forEach(one -> System.setProperty(one.getKey(), one.getValue().asText()));
    new SchemaConversions(given).run();
  }

  private void run() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    String address = "http://127.0.0.1:" + server.getAddress().getPort();
    for (JsonNode step : given.get("steps")) {
      convert(step, address);
    }
    server.stop(0);
    asked.forEach(path -> System.out.println("@" + hex(path)));
  }

  private void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().toString();
    int count = counts.merge(path, 1, Integer::sum);
    asked.add(path);
    JsonNode answers = given.get("answers").path(path);
    JsonNode found = answers.path(Math.min(count, answers.size()) - 1);
    int status = found.path(0).asInt(404);
    byte[] body = found.has(1) ? found.get(1).toString().getBytes(StandardCharsets.UTF_8) : UNKNOWN;
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  private static void convert(JsonNode step, String address) {
    String columns = step.get("columns").asText();
    SchemaReader reader =
        new SchemaReader(of(step, "from"), columns, options(step.get("read"), address));
    SchemaWriter writer =
        new SchemaWriter(of(step, "to"), columns, options(step.get("write"), address));
    for (JsonNode data : step.get("data")) {
      System.out.println(converted(HEX.parseHex(data.asText()), reader, writer));
    }
  }

  private static SchemaFormat of(JsonNode step, String side) {
    return FORMATS.get(step.get(side).asText());
  }

  private static String options(JsonNode given, String address) {
    return given.toString().replace("mock://registry", address);
  }

  private static String converted(byte[] data, SchemaReader reader, SchemaWriter writer) {
    try {
      InternalRow row = reader.read(data);
      byte[] written = row == null ? null : writer.write(row);
      return written == null ? "null" : "=" + HEX.formatHex(written);
    } catch (RegistryAwayException e) {
      return "?" + hex(e.getMessage());
    } catch (SerializationException e) {
      return "!" + hex(e.getMessage());
    }
  }

  private static String hex(String text) {
    return HEX.formatHex(text.getBytes(StandardCharsets.UTF_8));
  }
}
