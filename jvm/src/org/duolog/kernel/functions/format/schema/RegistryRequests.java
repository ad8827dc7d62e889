package org.duolog.kernel.functions.format.schema;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * GET requests to a registry at one of several addresses, as {@code duolog.registry.client} sends
 * them: an address that does not answer, or answers 429 or 5xx, is followed by the next one; after
 * the last one the client waits and starts again. One that refuses the user is not asked again.
 *
 * <p>Threads: one at a time.
 */
final class RegistryRequests {
  private static final String PATIENCE = "duolog.schema.registry.patience.ms";
  private static final long PATIENCE_MS = 120_000;
  private static final long PAUSE_MS_MIN = 200;
  private static final long PAUSE_MS_MAX = 5_000;
  private static final long TIMEOUT_S = 10;
  private static final String AUTHORITIES = "DUOLOG_SCHEMA_REGISTRY_CA_FILE";
  private static final String ACCEPT = "application/vnd.schemaregistry.v1+json";
  private static final int UNAUTHORIZED = 401;
  private static final int FORBIDDEN = 403;
  private static final int NOT_FOUND = 404;
  private static final int TOO_MANY = 429;
  private static final int BROKEN = 500;

  private final List<String> addresses = new ArrayList<>();
  private HttpClient client;
  private int first;
  private RegistryAwayException away;
  private long awayUntil;

  RegistryRequests(String addresses) {
    for (String address : addresses.split(",")) {
      this.addresses.add(address.strip().replaceAll("/+$", ""));
    }
  }

  /** The time for which a registry that does not answer is asked again. */
  static long patienceMs() {
    return Long.getLong(PATIENCE, PATIENCE_MS);
  }

  /** Returns the body of the answer; null if the registry does not know what was asked for. */
  JsonNode get(String path) {
    if (away != null && System.nanoTime() - awayUntil < 0) {
      // Tasks that waited for this one do not wait a second time.
      throw away;
    }
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(patienceMs());
    long pause = PAUSE_MS_MIN;
    Map<String, String> failures = new LinkedHashMap<>();
    while (true) {
      for (int i = 0; i < addresses.size(); i++) {
        int index = (first + i) % addresses.size();
        HttpResponse<byte[]> answer = asked(addresses.get(index), path, failures);
        if (answer != null) {
          first = index;
          return body(addresses.get(index), answer);
        }
      }
      if (System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pause) > deadline) {
        away = new RegistryAwayException("the schema registry does not answer: " + failures, null);
        awayUntil = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
        throw away;
      }
      sleep(pause);
      pause = Math.min(2 * pause, PAUSE_MS_MAX);
    }
  }

  /** Returns the body of an answer of any form; null if no address answers when asked once. */
  JsonNode getOnce(String path) {
    for (int i = 0; i < addresses.size(); i++) {
      String address = addresses.get((first + i) % addresses.size());
      HttpResponse<byte[]> answer = asked(address, path, new LinkedHashMap<>());
      if (answer != null && answer.statusCode() / 100 == 2) {
        try {
          return SchemaRegistry.json(answer.body());
        } catch (IOException e) {
          return null;
        }
      }
    }
    return null;
  }

  /** Returns an answer that counts; null if the next address is to be asked. */
  private HttpResponse<byte[]> asked(String address, String path, Map<String, String> failures) {
    try {
      HttpResponse<byte[]> answer = sent(address, path);
      int status = answer.statusCode();
      if (status != TOO_MANY && status < BROKEN) {
        return answer;
      }
      failures.put(shown(address), "HTTP status " + status);
    } catch (IOException e) {
      failures.put(shown(address), e.getMessage());
    }
    return null;
  }

  private HttpResponse<byte[]> sent(String address, String path) throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(address + path)).header("Accept", ACCEPT);
    String authorization = RegistryUsers.authorization(address);
    if (authorization != null) {
      request.header("Authorization", authorization);
    }
    CompletableFuture<HttpResponse<byte[]>> answer =
        client().sendAsync(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    try {
      return answer.get(TIMEOUT_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IOException(reason(e.getCause()), e);
    } catch (TimeoutException e) {
      throw new IOException("no answer within " + TIMEOUT_S + " s", e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    } finally {
      answer.cancel(true);
    }
  }

  private static String reason(Throwable cause) {
    String message = cause.getMessage();
    if (message != null && !message.isBlank()) {
      return message;
    }
    return cause instanceof ConnectException ? "cannot connect" : "the connection is lost";
  }

  /** A 404 that does not come from a registry, but from a proxy, says nothing about a schema. */
  private static JsonNode body(String address, HttpResponse<byte[]> answer) {
    JsonNode body;
    try {
      body = SchemaRegistry.json(answer.body());
    } catch (IOException e) {
      body = MissingNode.getInstance();
    }
    int status = answer.statusCode();
    if (status == NOT_FOUND && body.has("error_code")) {
      return null;
    }
    if (status == UNAUTHORIZED || status == FORBIDDEN) {
      String why = body.path("message").asText();
      throw new RegistryLoginException(
          String.format(
              "the schema registry at %s refuses the user of the query: HTTP status %d%s",
              shown(address), status, why.isEmpty() ? "" : ", " + why));
    }
    if (status / 100 != 2 || !body.isObject()) {
      throw new RegistryAwayException(
          String.format(
              "%s answers like no schema registry: HTTP status %d",
              shown(address), status),
          null);
    }
    return body;
  }

  /** Addresses have no users; if one has nevertheless, no message repeats it. */
  private static String shown(String address) {
    return address.replaceAll("//[^/]*@", "//");
  }

  private static URI uri(String text) {
    URI uri;
    try {
      uri = URI.create(text);
    } catch (IllegalArgumentException e) {
      throw new RegistryAwayException("the address of the schema registry is invalid", e);
    }
    if (!"http".equals(uri.getScheme()) && !"https".equals(uri.getScheme())) {
      throw new RegistryAwayException(
          "the address of a schema registry must start with http:// or https://, not with "
              + uri.getScheme() + "://",
          null);
    }
    if (uri.getHost() == null) {
      throw new RegistryAwayException(
          "the address of the schema registry has no valid name of a host; one has letters, digits,"
              + " points and hyphens, but no underscores",
          null);
    }
    return uri;
  }

  private HttpClient client() {
    if (client == null) {
      HttpClient.Builder builder =
          HttpClient.newBuilder()
              .version(HttpClient.Version.HTTP_1_1)
              .connectTimeout(Duration.ofSeconds(TIMEOUT_S));
      String authorities = System.getenv(AUTHORITIES);
      if (authorities != null && !authorities.isBlank()) {
        builder.sslContext(trusting(authorities));
      }
      client = builder.build();
    }
    return client;
  }

  /** Returns TLS that trusts only the certificates in a PEM file. */
  private static SSLContext trusting(String file) {
    try (InputStream pem = Files.newInputStream(Path.of(file))) {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        store.setCertificateEntry("authority-" + store.size(), one);
      }
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new RegistryAwayException(
          String.format("%s names a file of authorities that cannot be read: %s", AUTHORITIES, e),
          e);
    }
  }

  private static void sleep(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private static RegistryAwayException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return new RegistryAwayException("interrupted while asking the schema registry", e);
  }
}
