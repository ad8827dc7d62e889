package org.duolog.kernel.security;

import java.io.IOException;
import java.security.KeyStore;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.SSLEngine;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.auth.SslEngineFactory;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/**
 * Kafka's TLS with the certificates and the key of {@link ClientSecrets}, so that no JVM needs a
 * file of them. Named in a client's settings, so it has a public constructor. Threads: Kafka's.
 */
public final class SecretTls implements SslEngineFactory {
  private static final Map<String, String> FIELDS =
      Map.of(
          "authorities", SslConfigs.SSL_TRUSTSTORE_CERTIFICATES_CONFIG,
          "chain", SslConfigs.SSL_KEYSTORE_CERTIFICATE_CHAIN_CONFIG,
          "key", SslConfigs.SSL_KEYSTORE_KEY_CONFIG,
          "key_password", SslConfigs.SSL_KEY_PASSWORD_CONFIG);

  private final DefaultSslEngineFactory kafka = new DefaultSslEngineFactory();

  public SecretTls() {}

  @Override
  public void configure(Map<String, ?> settings) {
    ClientSecrets secrets = ClientSecrets.of(settings);
    Map<String, Object> whole = new HashMap<>(settings);
    FIELDS.forEach(
        (field, name) -> {
          if (secrets.get(field) != null) {
            whole.put(name, new Password(secrets.get(field)));
          }
        });
    if (secrets.get("authorities") != null) {
      whole.put(SslConfigs.SSL_TRUSTSTORE_TYPE_CONFIG, DefaultSslEngineFactory.PEM_TYPE);
    }
    if (secrets.get("key") != null) {
      whole.put(SslConfigs.SSL_KEYSTORE_TYPE_CONFIG, DefaultSslEngineFactory.PEM_TYPE);
    }
    kafka.configure(whole);
  }

  @Override
  public SSLEngine createClientSslEngine(String host, int port, String identification) {
    return kafka.createClientSslEngine(host, port, identification);
  }

  @Override
  public SSLEngine createServerSslEngine(String host, int port) {
    return kafka.createServerSslEngine(host, port);
  }

  @Override
  public boolean shouldBeRebuilt(Map<String, Object> settings) {
    return false; // The secrets of a name do not change.
  }

  @Override
  public Set<String> reconfigurableConfigs() {
    return Set.of();
  }

  @Override
  public KeyStore keystore() {
    return kafka.keystore();
  }

  @Override
  public KeyStore truststore() {
    return kafka.truststore();
  }

  @Override
  public void close() throws IOException {
    kafka.close();
  }
}
