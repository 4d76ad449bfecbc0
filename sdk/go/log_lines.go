package drover

import (
	"context"
	"log/slog"
	"maps"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/drover-dev/drover/sdk/go/droverpb"
)

const (
	// lineLengthMax: the server cuts a line at 8 KiB and says so; a longer one is not worth its way.
	lineLengthMax = 16_384
	// Limits of the contract.
	fieldsMax     = 16
	keyBytesMax   = 64
	valueBytesMax = 256
)

// lineHandler makes a line for the server of each record, whatever the level of the process's own
// handler is, and passes on those that that handler takes.
//
// Fields are the attributes of the record and of With; those in a group have its name before
// theirs, as "card.number".
type lineHandler struct {
	ofProcess slog.Handler
	add       func(*droverpb.LogText)
	// fields of each line.
	fields map[string]string
	// prefix of further keys: "" or the names of the open groups, as "a.b.".
	prefix string
}

// Enabled is true: lines of every level are stored.
func (lineHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle is that of slog.Handler.
func (h lineHandler) Handle(ctx context.Context, record slog.Record) error {
	line := lineOf(record.Level, record.Message, maps.Clone(h.fields))
	if !record.Time.IsZero() {
		line.Time = timestamppb.New(record.Time)
	}
	record.Attrs(func(attr slog.Attr) bool {
		addField(line.Fields, h.prefix, attr)
		return true
	})
	h.add(line)
	if !h.ofProcess.Enabled(ctx, record.Level) {
		return nil
	}
	return h.ofProcess.Handle(ctx, record)
}

// WithAttrs is that of slog.Handler.
func (h lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.ofProcess = h.ofProcess.WithAttrs(attrs)
	h.fields = maps.Clone(h.fields)
	for _, attr := range attrs {
		addField(h.fields, h.prefix, attr)
	}
	return h
}

// WithGroup is that of slog.Handler.
func (h lineHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	h.ofProcess = h.ofProcess.WithGroup(name)
	h.prefix += name + "."
	return h
}

func addField(fields map[string]string, prefix string, attr slog.Attr) {
	value := attr.Value.Resolve()
	switch {
	case len(fields) >= fieldsMax || attr.Equal(slog.Attr{}):
	case value.Kind() == slog.KindGroup:
		if attr.Key != "" {
			prefix += attr.Key + "."
		}
		for _, one := range value.Group() {
			addField(fields, prefix, one)
		}
	default:
		key := cutText(prefix+attr.Key, keyBytesMax)
		if key == "" {
			key = "-"
		}
		fields[key] = cutText(value.String(), valueBytesMax)
	}
}

// lineOf is a line of now, which fits into the limits of the contract.
func lineOf(level slog.Level, message string, fields map[string]string) *droverpb.LogText {
	return &droverpb.LogText{
		Time:    timestamppb.New(time.Now()),
		Level:   levelOf(level),
		Message: tidyText(message, lineLengthMax),
		Fields:  fields,
	}
}

func levelOf(level slog.Level) droverpb.LogLevel {
	switch {
	case level >= slog.LevelError:
		return droverpb.LogLevel_LOG_LEVEL_ERROR
	case level >= slog.LevelWarn:
		return droverpb.LogLevel_LOG_LEVEL_WARN
	case level >= slog.LevelInfo:
		return droverpb.LogLevel_LOG_LEVEL_INFO
	default:
		return droverpb.LogLevel_LOG_LEVEL_DEBUG
	}
}

// cutText is tidy, and has at most so many bytes, without a character that is cut in two.
func cutText(text string, bytesMax int) string {
	tidy := tidyText(text, bytesMax)
	for len(tidy) > bytesMax {
		_, size := utf8.DecodeLastRuneInString(tidy)
		tidy = tidy[:len(tidy)-size]
	}
	return tidy
}
