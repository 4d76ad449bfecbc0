package drover

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc/credentials"
)

// TLSFiles are the files of TLS, in PEM. They are read for each connection, so that a certificate that
// was replaced is used by the next one.
type TLSFiles struct {
	// CA has the authorities to trust. Empty: those of the system.
	CA string
	// Cert and Key are the client's certificate, for servers that ask for one.
	Cert, Key string
	// ServerName is the name in the server's certificate, if it differs from the address.
	ServerName string
}

// fileTLS are the credentials of files.
type fileTLS struct {
	files TLSFiles
	mu    sync.Mutex
	last  *tls.Config
}

func newFileTLS(files TLSFiles) (*fileTLS, error) {
	if (files.Cert == "") != (files.Key == "") {
		return nil, errors.New("a certificate and its key belong together: set Cert and Key")
	}
	config, err := files.read()
	if err != nil {
		return nil, err
	}
	return &fileTLS{files: files, last: config}, nil
}

func (f TLSFiles) read() (*tls.Config, error) {
	config := &tls.Config{ServerName: f.ServerName, MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM", f.CA)
		}
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// current is what the files say. While they are being written, it is what they said before.
func (f *fileTLS) current() credentials.TransportCredentials {
	f.mu.Lock()
	defer f.mu.Unlock()
	if config, err := f.files.read(); err == nil {
		f.last = config
	}
	return credentials.NewTLS(f.last)
}

// ClientHandshake is that of credentials.TransportCredentials, as are those below.
func (f *fileTLS) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (
	net.Conn, credentials.AuthInfo, error) {
	return f.current().ClientHandshake(ctx, authority, conn)
}

func (f *fileTLS) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("drover: these credentials are for clients")
}

func (f *fileTLS) Info() credentials.ProtocolInfo { return f.current().Info() }

func (f *fileTLS) Clone() credentials.TransportCredentials {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &fileTLS{files: f.files, last: f.last}
}

func (f *fileTLS) OverrideServerName(name string) error {
	f.files.ServerName = name
	return nil
}
