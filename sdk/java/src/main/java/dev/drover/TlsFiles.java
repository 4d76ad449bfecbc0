package dev.drover;

import java.nio.file.Path;
import java.util.Objects;

/**
 * The files of TLS, in PEM. They are read for each connection, so that a certificate that was
 * replaced is used by the next one.
 *
 * @param ca the authorities to trust; null: those of the system
 * @param certificate the client's certificate, for servers that ask for one; null: none
 * @param key its key, as PKCS #8; null: none
 * @param serverName the name in the server's certificate, if it differs from the address; null: it
 *     does not
 */
public record TlsFiles(Path ca, Path certificate, Path key, String serverName) {
  /**
   * Checks that certificate and key are given together.
   *
   * @param ca null: the authorities of the system
   * @param certificate null: none
   * @param key null: none
   * @param serverName null: that of the address
   * @throws IllegalArgumentException if they are not
   */
  public TlsFiles {
    if ((certificate == null) != (key == null)) {
      throw new IllegalArgumentException("a certificate and its key belong together: give both");
    }
  }

  /**
   * Trusts the authorities of the system.
   *
   * @return files of nothing
   */
  public static TlsFiles system() {
    return new TlsFiles(null, null, null, null);
  }

  /**
   * Trusts these authorities alone.
   *
   * @param ca a file in PEM
   * @return the files with it
   */
  public TlsFiles withCa(Path ca) {
    return new TlsFiles(Objects.requireNonNull(ca, "ca"), certificate, key, serverName);
  }

  /**
   * Adds the certificate of the client.
   *
   * @param certificate a file in PEM
   * @param key a file in PEM, PKCS #8
   * @return the files with them
   */
  public TlsFiles withCertificate(Path certificate, Path key) {
    return new TlsFiles(ca, certificate, key, serverName);
  }

  /**
   * Sets the name in the server's certificate.
   *
   * @param serverName such as {@code drover.example.com}
   * @return the files with it
   */
  public TlsFiles withServerName(String serverName) {
    return new TlsFiles(ca, certificate, key, serverName);
  }
}
