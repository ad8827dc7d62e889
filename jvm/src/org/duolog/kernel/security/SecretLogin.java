package org.duolog.kernel.security;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.authenticator.SaslClientCallbackHandler;

/**
 * Gives user and password to a client's PLAIN or SCRAM mechanism, from {@link ClientSecrets}. All
 * other questions are Kafka's. Named in a client's settings, so it has a public constructor.
 *
 * <p>Threads: configured by the one that creates the client, then used by the client's own, which
 * does not run in a task.
 */
public final class SecretLogin implements AuthenticateCallbackHandler {
  private final SaslClientCallbackHandler others = new SaslClientCallbackHandler();
  private ClientSecrets secrets;

  public SecretLogin() {}

  @Override
  public void configure(
      Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> entries) {
    others.configure(settings, mechanism, entries);
    secrets = ClientSecrets.of(settings);
  }

  @Override
  public void handle(Callback[] callbacks) throws IOException, UnsupportedCallbackException {
    for (Callback callback : callbacks) {
      if (callback instanceof NameCallback) {
        ((NameCallback) callback).setName(secrets.get("username"));
      } else if (callback instanceof PasswordCallback) {
        ((PasswordCallback) callback).setPassword(secrets.get("password").toCharArray());
      } else {
        others.handle(new Callback[] {callback});
      }
    }
  }

  @Override
  public void close() {
    others.close();
  }
}
