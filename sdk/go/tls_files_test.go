package drover_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	drover "github.com/drover-dev/drover/sdk/go"
)

// issued is a certificate and its key.
type issued struct {
	of  *x509.Certificate
	key *ecdsa.PrivateKey
}

// issue makes one for 127.0.0.1, signed by the authority; without one, an authority.
func issue(t *testing.T, name string, by *issued) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	equal(t, "error", err, nil)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if by == nil {
		template.IsCA, template.BasicConstraintsValid = true, true
		by = &issued{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.of, &key.PublicKey, by.key)
	equal(t, "error", err, nil)
	of, err := x509.ParseCertificate(der)
	equal(t, "error", err, nil)
	return &issued{of, key}
}

func (i *issued) write(t *testing.T, files drover.TLSFiles) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(i.key)
	equal(t, "error", err, nil)
	writePEM(t, files.Cert, "CERTIFICATE", i.of.Raw)
	writePEM(t, files.Key, "PRIVATE KEY", key)
}

func writePEM(t *testing.T, file, kind string, bytes []byte) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	equal(t, "error", os.WriteFile(file, text, 0o600), nil)
}

func TestFilesThatWereReplacedAreReadForTheNextConnection(t *testing.T) {
	folder := t.TempDir()
	files := drover.TLSFiles{
		CA:   filepath.Join(folder, "ca.pem"),
		Cert: filepath.Join(folder, "cert.pem"),
		Key:  filepath.Join(folder, "key.pem"),
	}
	ours, others := issue(t, "ours", nil), issue(t, "others", nil)
	known := x509.NewCertPool()
	known.AddCert(ours.of)
	pair := issue(t, "server", ours)
	secured := grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{pair.of.Raw}, PrivateKey: pair.key}},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    known,
	}))
	ada, eve := issue(t, "ada", ours), issue(t, "eve", others)
	writePEM(t, files.CA, "CERTIFICATE", ours.of.Raw)
	eve.write(t, files)
	server := &wire{}
	address, running := server.serve(t, "127.0.0.1:0", secured)
	client := wireClient(t, address, drover.WithTLSFiles(files), drover.WithPatience(0))
	isTaken := func() bool {
		_, err := client.GetRun(t.Context(), drover.RunID("r"), drover.Include{})
		return err == nil
	}
	equal(t, "a stranger is taken", isTaken(), false)
	ada.write(t, files)
	until(t, "the certificate of the new file is taken", isTaken)

	reconnect := func() {
		running.Stop()
		_, running = server.serve(t, address, secured)
	}
	writePEM(t, files.CA, "CERTIFICATE", others.of.Raw)
	reconnect()
	until(t, "the server is not trusted", func() bool { return !isTaken() })
	writePEM(t, files.CA, "CERTIFICATE", ours.of.Raw)
	until(t, "the server is trusted again", isTaken)

	// A certificate without its key yet: those before are used.
	writePEM(t, files.Cert, "CERTIFICATE", eve.of.Raw)
	reconnect()
	until(t, "the pair before is used", isTaken)
}

func TestFilesThatCannotBeReadAreAnErrorAtOnce(t *testing.T) {
	_, err := drover.NewClient("127.0.0.1:1", drover.WithTLSFiles(drover.TLSFiles{CA: "none.pem"}))
	equal(t, "is an error", err != nil, true)
	_, err = drover.NewClient("127.0.0.1:1", drover.WithTLSFiles(drover.TLSFiles{Cert: "cert.pem"}))
	equal(t, "is an error", err != nil, true)
}
