package org.duolog.kernel.security;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;

/**
 * Gives Kafka's clients the token of {@link ClientSecrets}, or gets tokens with its client id and
 * secret. Named in a client's settings, so it has a public constructor. Threads: as {@link
 * SecretLogin}.
 */
public final class SecretTokens implements AuthenticateCallbackHandler {
  private final OAuthBearerLoginCallbackHandler kafka = new OAuthBearerLoginCallbackHandler();
  private String bearer;

  public SecretTokens() {}

  @Override
  public void configure(
      Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> entries) {
    ClientSecrets secrets = ClientSecrets.of(settings);
    bearer = secrets.get("bearer");
    if (bearer != null) {
      return;
    }
    Map<String, String> options = new HashMap<>();
    for (String name : List.of("clientId", "clientSecret", "scope")) {
      if (secrets.get(name) != null) {
        options.put(name, secrets.get(name));
      }
    }
    AppConfigurationEntry entry = entries.get(0);
    kafka.configure(
        settings,
        mechanism,
        List.of(
            new AppConfigurationEntry(
                entry.getLoginModuleName(), entry.getControlFlag(), options)));
  }

  @Override
  public void handle(Callback[] callbacks) throws IOException, UnsupportedCallbackException {
    if (bearer == null) {
      kafka.handle(callbacks);
      return;
    }
    for (Callback callback : callbacks) {
      // Others ask for extensions, of which there are none.
      if (callback instanceof OAuthBearerTokenCallback wanted) {
        wanted.token(new Issued(bearer, System.currentTimeMillis()));
      }
    }
  }

  @Override
  public void close() {
    if (bearer == null) {
      kafka.close();
    }
  }

  /** A token that was issued before. The broker knows its user and its end. */
  private static final class Issued implements OAuthBearerToken {
    private static final long LIFETIME_MS = 60 * 60 * 1000L;

    private final String value;
    private final long sinceMs;

    Issued(String value, long sinceMs) {
      this.value = value;
      this.sinceMs = sinceMs;
    }

    @Override
    public String value() {
      return value;
    }

    @Override
    public Set<String> scope() {
      return Set.of();
    }

    /** Until when the client uses the token, before it asks this class again. */
    @Override
    public long lifetimeMs() {
      return sinceMs + LIFETIME_MS;
    }

    @Override
    public String principalName() {
      return "token"; // Kafka's clients use it in their logs only.
    }

    @Override
    public Long startTimeMs() {
      return sinceMs;
    }

    @Override
    public String toString() {
      return "token"; // The value may not reach a log.
    }
  }
}
