package dev.drover;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.EncodedKeySpec;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Credentials of files, which are read for each handshake. While they are being written, they are
 * what they were before.
 */
final class FileTls {
  private static final String ALIAS = "client";
  private static final List<String> ALGORITHMS = List.of("RSA", "EC", "Ed25519");
  private static final Pattern PKCS8 = Pattern.compile(
      "-----BEGIN PRIVATE KEY-----([^-]*)-----END PRIVATE KEY-----");

  private FileTls() {}

  /** Throws IllegalArgumentException for files that cannot be read. */
  static ChannelCredentials credentials(TlsFiles files) {
    TlsChannelCredentials.Builder made = TlsChannelCredentials.newBuilder();
    try {
      if (files.ca() != null) {
        made.trustManager(new Trust(files.ca()));
      }
      if (files.certificate() != null) {
        made.keyManager(new Key(files.certificate(), files.key()));
      }
    } catch (IOException | GeneralSecurityException error) {
      throw new IllegalArgumentException("the files of TLS cannot be read: " + error, error);
    }
    return made.build();
  }

  private static X509Certificate[] certificates(Path file)
      throws IOException, GeneralSecurityException {
    try (InputStream bytes = Files.newInputStream(file)) {
      X509Certificate[] found = CertificateFactory.getInstance("X.509")
          .generateCertificates(bytes).toArray(new X509Certificate[0]);
      if (found.length == 0) {
        throw new CertificateException(file + " has no certificate in PEM");
      }
      return found;
    }
  }

  private static PrivateKey key(Path file) throws IOException, GeneralSecurityException {
    Matcher text = PKCS8.matcher(Files.readString(file, StandardCharsets.US_ASCII));
    if (!text.find()) {
      throw new InvalidKeySpecException(file + " has no key in PEM, as PKCS #8 (\"BEGIN PRIVATE"
          + " KEY\"): openssl pkcs8 -topk8 -nodes makes it of another");
    }
    EncodedKeySpec encoded =
        new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(text.group(1)));
    for (String algorithm : ALGORITHMS) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(encoded);
      } catch (InvalidKeySpecException other) {
        // The key is of one of the other algorithms.
        continue;
      }
    }
    throw new InvalidKeySpecException(
        file + " has a key of none of " + String.join(", ", ALGORITHMS));
  }

  /** The client's certificate. */
  private static final class Key extends X509ExtendedKeyManager {
    private final Path certificateFile;
    private final Path keyFile;
    private X509Certificate[] chain;
    private PrivateKey key;

    Key(Path certificateFile, Path keyFile) throws IOException, GeneralSecurityException {
      this.certificateFile = certificateFile;
      this.keyFile = keyFile;
      read();
    }

    private synchronized void read() throws IOException, GeneralSecurityException {
      X509Certificate[] newChain = certificates(certificateFile);
      key = FileTls.key(keyFile);
      chain = newChain;
    }

    private String choose() {
      try {
        read();
      } catch (IOException | GeneralSecurityException error) {
        // They are being written: what was read before still holds.
        return ALIAS;
      }
      return ALIAS;
    }

    @Override
    public String chooseEngineClientAlias(String[] types, Principal[] issuers, SSLEngine engine) {
      return choose();
    }

    @Override
    public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
      return choose();
    }

    @Override
    public String[] getClientAliases(String type, Principal[] issuers) {
      return new String[] {ALIAS};
    }

    @Override
    public synchronized X509Certificate[] getCertificateChain(String alias) {
      return chain.clone();
    }

    @Override
    public synchronized PrivateKey getPrivateKey(String alias) {
      return key;
    }

    @Override
    public String[] getServerAliases(String type, Principal[] issuers) {
      return new String[0];
    }

    @Override
    public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
      return null;
    }
  }

  /** The authorities that are trusted. */
  private static final class Trust extends X509ExtendedTrustManager {
    private final Path file;
    private X509ExtendedTrustManager last;

    Trust(Path file) throws IOException, GeneralSecurityException {
      this.file = file;
      last = read();
    }

    private X509ExtendedTrustManager read() throws IOException, GeneralSecurityException {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      X509Certificate[] found = certificates(file);
      for (int at = 0; at < found.length; at++) {
        trusted.setCertificateEntry("ca-" + at, found[at]);
      }
      TrustManagerFactory factory =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(trusted);
      for (TrustManager manager : factory.getTrustManagers()) {
        if (manager instanceof X509ExtendedTrustManager made) {
          return made;
        }
      }
      throw new CertificateException("this Java trusts no certificates of X.509");
    }

    private synchronized X509ExtendedTrustManager current() {
      try {
        last = read();
      } catch (IOException | GeneralSecurityException error) {
        // It is being written: what was read before still holds.
        return last;
      }
      return last;
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      current().checkServerTrusted(chain, type, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      current().checkServerTrusted(chain, type, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      current().checkServerTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
        throws CertificateException {
      throw new CertificateException("these credentials are for clients");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
        throws CertificateException {
      throw new CertificateException("these credentials are for clients");
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type)
        throws CertificateException {
      throw new CertificateException("these credentials are for clients");
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return current().getAcceptedIssuers();
    }
  }
}
