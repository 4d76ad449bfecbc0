// The settings of TLS, which several ports may have.

/** TLS of a port; the files are PEM, and are read again when they change. */
export interface TlsConfig {
  /** The chain of the certificate, the server's own first. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Authorities of client certificates; null: clients are not asked for certificates. */
  readonly clientCaFile: string | null;
  /** Refuses a connection without a client certificate. */
  readonly requireClientCert: boolean;
}
