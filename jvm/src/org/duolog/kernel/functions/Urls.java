package org.duolog.kernel.functions;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Functions of URLs; called from code that Spark generates. A missing part is null; a text that is
 * not a URL makes the call fail. Arguments are not null.
 */
public final class Urls {
  private Urls() {}

  /** Encodes as in a form: a blank becomes a plus. */
  public static UTF8String encode(UTF8String text) {
    return UTF8String.fromString(URLEncoder.encode(text.toString(), UTF_8));
  }

  public static UTF8String decode(UTF8String text) {
    return UTF8String.fromString(URLDecoder.decode(text.toString(), UTF_8));
  }

  public static UTF8String protocol(UTF8String url) {
    return UTF8String.fromString(uri(url).getScheme());
  }

  public static UTF8String host(UTF8String url) {
    return UTF8String.fromString(uri(url).getHost());
  }

  public static Integer port(UTF8String url) {
    int port = uri(url).getPort();
    return port < 0 ? null : (Integer) port;
  }

  public static UTF8String path(UTF8String url) {
    return UTF8String.fromString(uri(url).getPath());
  }

  public static UTF8String query(UTF8String url) {
    return UTF8String.fromString(uri(url).getQuery());
  }

  public static UTF8String fragment(UTF8String url) {
    return UTF8String.fromString(uri(url).getFragment());
  }

  /** Returns the value of a query parameter, decoding both; null if there is none. */
  public static UTF8String parameter(UTF8String url, UTF8String name) {
    String query = uri(url).getRawQuery();
    if (query == null) {
      return null;
    }
    for (String parameter : query.split("&")) {
      String[] parts = parameter.split("=", 2);
      if (decoded(parts[0]).equals(name.toString())) {
        return parts.length > 1 ? UTF8String.fromString(decoded(parts[1])) : null;
      }
    }
    return null;
  }

  /** Decodes percent escapes; a plus is not changed. */
  private static String decoded(String part) {
    return URI.create("?" + part).getQuery();
  }

  private static URI uri(UTF8String url) {
    return URI.create(url.toString());
  }
}
