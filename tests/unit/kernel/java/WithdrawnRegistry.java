package org.duolog.kernel.functions.format.schema;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/**
 * Asks for a schema at an address that stands for a server: while it does, after it is withdrawn,
 * and while it stands for another server. Prints the schemas, and {@code away} if none is found.
 */
public final class WithdrawnRegistry {
  private static final String ADDRESS = "memory://registry";

  private WithdrawnRegistry() {}

  public static void main(String[] none) throws IOException {
    System.setProperty("duolog.schema.registry.patience.ms", "0");
    HttpServer first = server("int");
    HttpServer second = server("long");
    SchemaRegistry.provide(ADDRESS, address(first));
    ask();
    SchemaRegistry.withdraw(ADDRESS);
    ask();
    SchemaRegistry.provide(ADDRESS, address(second));
    ask();
    first.stop(0);
    second.stop(0);
  }

  private static void ask() {
    try {
      System.out.println(SchemaRegistry.at(ADDRESS).avro(1).text());
    } catch (RegistryAwayException e) {
      System.out.println("away");
    }
  }

  private static HttpServer server(String schema) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    byte[] body = ("{\"schema\": \"" + schema + "\"}").getBytes(StandardCharsets.UTF_8);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    return server;
  }

  private static String address(HttpServer server) {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }
}
