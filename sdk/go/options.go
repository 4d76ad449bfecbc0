package drover

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"google.golang.org/grpc"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

// Option is an option of clients and of agents.
type Option interface {
	ClientOption
	AgentOption
}

// ClientOption is an option of clients.
type ClientOption interface{ forClient(*clientSettings) }

// AgentOption is an option of agents.
type AgentOption interface{ forAgent(*agentSettings) }

type clientSettings struct {
	shared
	patience time.Duration
}

// shared is what clients and agents have in common.
type shared struct {
	dialing
	namespace string
	codec     Codec
	log       *slog.Logger
}

func sharedOf(address string) shared {
	return shared{dialing: dialingTo(address), codec: plain{}, log: slog.Default()}
}

type agentSettings struct {
	shared
	id          string
	version     string
	labels      map[string]string
	queues      []*droverpb.QueueWeight
	slots       int
	handlers    map[string]Handler
	tasks       []string
	grace       time.Duration
	stopGrace   time.Duration
	pollWait    time.Duration
	handleStops bool
	wrong       []error
}

type option func(*shared)

func (o option) forClient(settings *clientSettings) { o(&settings.shared) }
func (o option) forAgent(settings *agentSettings)   { o(&settings.shared) }

type clientOption func(*clientSettings)

func (o clientOption) forClient(settings *clientSettings) { o(settings) }

type agentOption func(*agentSettings)

func (o agentOption) forAgent(settings *agentSettings) { o(settings) }

// WithNamespace sets the namespace of the runs and tasks. Default: "default".
func WithNamespace(name string) Option {
	return option(func(s *shared) { s.namespace = name })
}

// WithAddresses adds addresses of further servers. A call goes to the next one that can be reached.
func WithAddresses(addresses ...string) Option {
	return option(func(s *shared) { s.addresses = append(s.addresses, addresses...) })
}

// WithTLS encrypts the connection; a configuration with certificates identifies this program to the
// server. Default: plain text.
func WithTLS(config *tls.Config) Option {
	return option(func(s *shared) { s.tls = config })
}

// WithTLSFiles encrypts the connection, with files that are read again for each connection.
func WithTLSFiles(files TLSFiles) Option {
	return option(func(s *shared) { s.tlsFiles = &files })
}

// WithToken sends an API token with each call. For a server on another machine it needs WithTLS or
// WithPlaintextToken. Default: the variable DROVER_TOKEN, or none.
func WithToken(token string) Option {
	return option(func(s *shared) { s.token = token })
}

// WithPlaintextToken sends the token to a server on another machine without TLS, too: every machine
// between can read and use it.
func WithPlaintextToken() Option {
	return option(func(s *shared) { s.plaintextToken = true })
}

// WithConn uses a connection that the program has made, with interceptors of its own, instead of
// one to the address. The program closes it.
func WithConn(conn grpc.ClientConnInterface) Option {
	return option(func(s *shared) { s.conn = conn })
}

// WithCodec encodes payloads that the program sends, and decodes those that it receives. Default:
// none.
func WithCodec(codec Codec) Option {
	return option(func(s *shared) { s.codec = codec })
}

// WithPatience sets how long a client repeats a call while it is unknown whether the call took
// effect. Default 30 s.
func WithPatience(patience time.Duration) ClientOption {
	return clientOption(func(s *clientSettings) { s.patience = patience })
}

// Handle sets the handler for tasks of a name, including the tasks that verify and undo.
func Handle(task string, handler Handler) AgentOption {
	return agentOption(func(s *agentSettings) {
		s.checkName("name of a handler", task)
		if handler == nil {
			s.complain("the handler of %q is nil", task)
		}
		if s.handlers[task] != nil {
			s.complain("the task %q has two handlers", task)
		}
		s.handlers[task] = handler
		s.tasks = append(s.tasks, task)
	})
}

// WithQueue polls a queue; the weight, 1 to 1,000, is how often the server takes from it first,
// relative to the other queues. Default: only the queue "default".
func WithQueue(name string, weight int) AgentOption {
	return agentOption(func(s *agentSettings) {
		s.checkName("name of a queue", name)
		s.checkNumber("weight of queue "+name, weight, 1, 1_000)
		s.queues = append(s.queues, &droverpb.QueueWeight{Name: name, Weight: int32(weight)})
	})
}

// WithSlots sets the maximum number of tasks at a time, 1 to 10,000. Default 10.
func WithSlots(slots int) AgentOption {
	return agentOption(func(s *agentSettings) {
		s.checkNumber("number of slots", slots, 1, 10_000)
		s.slots = slots
	})
}

// WithGrace sets how long running handlers may take to finish when the agent stops. Default 15 s.
func WithGrace(grace time.Duration) AgentOption {
	return agentOption(func(s *agentSettings) {
		s.checkTime("grace", grace, 0, 24*time.Hour)
		s.grace = grace
	})
}

// WithStopGrace sets how long a handler may ignore that its context was cancelled, before it is
// reported as lost and the agent ends. Default 10 s.
func WithStopGrace(grace time.Duration) AgentOption {
	return agentOption(func(s *agentSettings) {
		s.checkTime("stop grace", grace, 0, 24*time.Hour)
		s.stopGrace = grace
	})
}

// WithPollWait sets how long a poll waits for a task, 1 to 60 s. Default 30 s.
func WithPollWait(wait time.Duration) AgentOption {
	return agentOption(func(s *agentSettings) {
		s.checkTime("poll wait", wait, time.Second, time.Minute)
		s.pollWait = wait
	})
}

// WithVersion sets the version of the program, for people.
func WithVersion(version string) AgentOption {
	return agentOption(func(s *agentSettings) { s.version = version })
}

// WithLabels sets labels, for people.
func WithLabels(labels map[string]string) AgentOption {
	return agentOption(func(s *agentSettings) { s.labels = labels })
}

// WithSignals drains the agent at SIGTERM and at an interrupt; the second one kills the process.
func WithSignals() AgentOption {
	return agentOption(func(s *agentSettings) { s.handleStops = true })
}

// WithLog sets the logger of a client, or of an agent and its handlers. Default: [slog.Default].
func WithLog(log *slog.Logger) Option {
	return option(func(s *shared) { s.log = log })
}

const (
	handlersMax = 100
	queuesMax   = 100
)

// settingsOf finds a mistake at the start, not by a refused poll.
func settingsOf(address, id string, options []AgentOption) (*agentSettings, error) {
	s := &agentSettings{
		shared:    sharedOf(address),
		id:        id,
		slots:     10,
		handlers:  map[string]Handler{},
		grace:     15 * time.Second,
		stopGrace: 10 * time.Second,
		pollWait:  30 * time.Second,
	}
	for _, option := range options {
		option.forAgent(s)
	}
	s.checkName("id", id)
	if s.namespace != "" {
		s.checkName("namespace", s.namespace)
	}
	s.checkNumber("number of handlers", len(s.handlers), 1, handlersMax)
	if len(s.queues) == 0 {
		s.queues = []*droverpb.QueueWeight{{Name: "default", Weight: 1}}
	}
	s.checkNumber("number of queues", len(s.queues), 1, queuesMax)
	return s, errors.Join(s.wrong...)
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

func (s *agentSettings) complain(format string, values ...any) {
	s.wrong = append(s.wrong, fmt.Errorf("drover: "+format, values...))
}

func (s *agentSettings) checkName(what, name string) {
	if !namePattern.MatchString(name) {
		const text = `the %s is %q; it must be 1 to 128 characters of letters, digits, ".", "_", "-"`
		s.complain(text, what, name)
	}
}

func (s *agentSettings) checkNumber(what string, value, least, most int) {
	if value < least || value > most {
		s.complain("the %s is %d; it must be %d to %d", what, value, least, most)
	}
}

func (s *agentSettings) checkTime(what string, value, least, most time.Duration) {
	if value < least || value > most {
		s.complain("the %s is %s; it must be %s to %s", what, value, least, most)
	}
}
