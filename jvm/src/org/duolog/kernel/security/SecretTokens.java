package org.duolog.kernel.security;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler;

/**
 * Gets tokens with the client id and secret of {@link ClientSecrets}. Named in a client's settings,
 * so it has a public constructor. Threads: as {@link SecretLogin}.
 */
public final class SecretTokens implements AuthenticateCallbackHandler {
  private final OAuthBearerLoginCallbackHandler kafka = new OAuthBearerLoginCallbackHandler();

  public SecretTokens() {}

  @Override
  public void configure(
      Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> entries) {
    ClientSecrets secrets = ClientSecrets.of(settings);
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
    kafka.handle(callbacks);
  }

  @Override
  public void close() {
    kafka.close();
  }
}
