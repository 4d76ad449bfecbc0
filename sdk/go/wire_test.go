package drover_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	drover "github.com/drover-dev/drover/sdk/go"
	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// wire is a server of real gRPC, which knows one run.
type wire struct {
	droverpb.UnimplementedSchedulerServiceServer
	mu     sync.Mutex
	tokens []string
	// watches are the versions and the cursors after which a client started to watch.
	watches []string
}

func (w *wire) GetRun(ctx context.Context, _ *droverpb.GetRunRequest) (
	*droverpb.GetRunResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if meta, ok := metadata.FromIncomingContext(ctx); ok {
		w.tokens = append(w.tokens, meta.Get("authorization")...)
	}
	return &droverpb.GetRunResponse{Run: &droverpb.Run{RunId: "r"}}, nil
}

// WatchRun breaks after the first version, and ends with the third.
func (w *wire) WatchRun(request *droverpb.WatchRunRequest,
	stream grpc.ServerStreamingServer[droverpb.WatchRunResponse]) error {
	w.mu.Lock()
	w.watches = append(w.watches, fmt.Sprint(request.GetAfterVersion(), request.GetAfter()))
	w.mu.Unlock()
	run := &droverpb.Run{Version: request.GetAfterVersion() + 1}
	if request.GetAfterVersion() == 2 {
		run.State = droverpb.RunState_RUN_STATE_COMPLETED
	}
	if err := stream.Send(&droverpb.WatchRunResponse{
		Run: run, Cursor: fmt.Sprintf("-c%d", run.GetVersion()),
	}); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "the server goes away")
}

func (w *wire) serve(t *testing.T, address string, options ...grpc.ServerOption) (
	string, *grpc.Server) {
	t.Helper()
	return serve(t, address, w, options...)
}

func serve(t *testing.T, address string, service droverpb.SchedulerServiceServer,
	options ...grpc.ServerOption) (string, *grpc.Server) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	droverpb.RegisterSchedulerServiceServer(server, service)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), server
}

func wireClient(t *testing.T, address string, options ...drover.ClientOption) *drover.Client {
	t.Helper()
	client, err := drover.NewClient(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestATokenOfTheEnvironmentIsShownUnlessAnotherIsGiven(t *testing.T) {
	t.Setenv("DROVER_TOKEN", "of the environment")
	server := &wire{}
	address, _ := server.serve(t, "127.0.0.1:0")
	for _, options := range [][]drover.ClientOption{
		{}, {drover.WithToken("given")}, {drover.WithToken("")},
	} {
		_, err := wireClient(t, address, options...).GetRun(t.Context(), drover.RunID("r"), drover.Include{})
		equal(t, "error", err, nil)
	}
	equal(t, "tokens", server.tokens, []string{"Bearer of the environment", "Bearer given"})
}

func TestACallGoesThroughTLSWithItsToken(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	equal(t, "error", err, nil)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	equal(t, "error", err, nil)
	certificate, err := x509.ParseCertificate(der)
	equal(t, "error", err, nil)
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	server := &wire{}
	own := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	address, _ := server.serve(t, "127.0.0.1:0", grpc.Creds(credentials.NewServerTLSFromCert(&own)))

	client := wireClient(t, address, drover.WithTLS(&tls.Config{RootCAs: roots}), drover.WithToken("abc"))
	_, err = client.GetRun(t.Context(), drover.RunID("r"), drover.Include{})
	equal(t, "error", err, nil)
	equal(t, "tokens", server.tokens, []string{"Bearer abc"})

	strangers := wireClient(t, address, drover.WithTLS(&tls.Config{RootCAs: x509.NewCertPool()}),
		drover.WithPatience(time.Millisecond))
	_, err = strangers.GetRun(t.Context(), drover.RunID("r"), drover.Include{})
	equal(t, "code", status.Code(err), codes.Unavailable)
}

func TestACallOutlivesARestartOfTheServer(t *testing.T) {
	server := &wire{}
	address, first := server.serve(t, "127.0.0.1:0")
	client := wireClient(t, address)
	_, err := client.GetRun(t.Context(), drover.RunID("r"), drover.Include{})
	equal(t, "error", err, nil)
	first.Stop()
	answered := make(chan error, 1)
	go func() {
		_, err := client.GetRun(t.Context(), drover.RunID("r"), drover.Include{})
		answered <- err
	}()
	server.serve(t, address)
	equal(t, "error", <-answered, nil)
}

func TestAWatchGoesOnAfterABreakFromTheLastStateThatItSaw(t *testing.T) {
	server := &wire{}
	address, _ := server.serve(t, "127.0.0.1:0")
	var versions []uint64
	for snapshot, err := range wireClient(t, address).WatchRun(t.Context(), drover.RunID("r")) {
		equal(t, "error", err, nil)
		versions = append(versions, snapshot.Run.Version)
	}
	equal(t, "versions", versions, []uint64{1, 2, 3})
	equal(t, "watches", server.watches, []string{"0", "1-c1", "2-c2"})
}
