package drover

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// tokenVariable has the token of a program that is given none.
const tokenVariable = "DROVER_TOKEN"

// dialing is how the servers are reached.
type dialing struct {
	// addresses, each of which may be several with commas.
	addresses []string
	tls       *tls.Config
	tlsFiles  *TLSFiles
	token     string
	// plaintextToken: the token is sent to another machine without TLS, too.
	plaintextToken bool
	conn           grpc.ClientConnInterface
}

func dialingTo(address string) dialing {
	return dialing{addresses: []string{address}, token: os.Getenv(tokenVariable)}
}

// receiveBytesMax: a poll may bring many tasks at once; the server sends far less.
const receiveBytesMax = 64 * 1024 * 1024

var addressPattern = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[^\s:/\[\],]+):\d{1,5}$`)

// each address, once.
func (d dialing) each() ([]string, error) {
	var each []string
	for _, address := range strings.Split(strings.Join(d.addresses, ","), ",") {
		address = strings.TrimSpace(address)
		if !addressPattern.MatchString(address) {
			const text = "drover: the address %q is not host:port; write it as 127.0.0.1:7420"
			return nil, fmt.Errorf(text, address)
		}
		if d.token != "" && !d.isSecure() && !d.plaintextToken && !isLoopback(address) {
			const text = "drover: the token would be sent to %s in plain text, for all to read: " +
				"add WithTLS, or WithPlaintextToken if the network between is trusted"
			return nil, fmt.Errorf(text, address)
		}
		if !slices.Contains(each, address) {
			each = append(each, address)
		}
	}
	return each, nil
}

func (d dialing) isSecure() bool { return d.tls != nil || d.tlsFiles != nil }

// dial returns a connection that connects by itself, and again after a break; a call made meanwhile
// fails with UNAVAILABLE, and its caller decides whether to repeat it. Of several addresses, the repeat
// goes to one that can be reached.
func (d dialing) dial() (conn grpc.ClientConnInterface, done func(), err error) {
	if d.conn != nil {
		return d.conn, func() {}, nil
	}
	addresses, err := d.each()
	if err != nil {
		return nil, nil, err
	}
	options, err := d.options()
	if err != nil {
		return nil, nil, fmt.Errorf("drover: %w", err)
	}
	open := func(address string) (*grpc.ClientConn, error) { return grpc.NewClient(address, options...) }
	if len(addresses) > 1 {
		several, err := newServers(addresses, open)
		if err != nil {
			return nil, nil, fmt.Errorf("drover: %w", err)
		}
		return several, several.close, nil
	}
	dialed, err := open(addresses[0])
	if err != nil {
		return nil, nil, fmt.Errorf("drover: %w", err)
	}
	// Close waits for no call: the calls that are left were given up.
	return dialed, func() { _ = dialed.Close() }, nil
}

func (d dialing) transport() (credentials.TransportCredentials, error) {
	switch {
	case d.tlsFiles != nil:
		return newFileTLS(*d.tlsFiles)
	case d.tls != nil:
		return credentials.NewTLS(d.tls), nil
	}
	return insecure.NewCredentials(), nil
}

func (d dialing) options() ([]grpc.DialOption, error) {
	transport, err := d.transport()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(receiveBytesMax)),
		// Of a name with several records: calls go to all of them in turn, and to no broken one.
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		// A peer that is gone, although the connection is open, is noticed within 30 s; with several
		// addresses sooner, by checks. Servers allow a ping each 10 s.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: 20 * time.Second, Timeout: 10 * time.Second,
		}),
		// After a restart of the server its agents reconnect within seconds, not minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: grpcbackoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second,
			},
			MinConnectTimeout: 5 * time.Second,
		}),
	}
	if d.token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(d.token)))
	}
	return options, nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// bearer is a token; dial has seen to it that it leaves the machine by TLS alone.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }
