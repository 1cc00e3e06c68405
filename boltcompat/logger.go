package boltcompat

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
)

// Logger receives what happens in a database.
type Logger interface {
	// Debug logs its arguments for debugging.
	Debug(v ...interface{})
	// Debugf formats and logs for debugging.
	Debugf(format string, v ...interface{})

	// Error logs its arguments as an error.
	Error(v ...interface{})
	// Errorf formats and logs an error.
	Errorf(format string, v ...interface{})

	// Info logs its arguments.
	Info(v ...interface{})
	// Infof formats and logs.
	Infof(format string, v ...interface{})

	// Warning logs its arguments as a warning.
	Warning(v ...interface{})
	// Warningf formats and logs a warning.
	Warningf(format string, v ...interface{})

	// Fatal logs its arguments and ends the program.
	Fatal(v ...interface{})
	// Fatalf formats, logs and ends the program.
	Fatalf(format string, v ...interface{})

	// Panic logs its arguments and panics.
	Panic(v ...interface{})
	// Panicf formats, logs and panics.
	Panicf(format string, v ...interface{})
}

// DefaultLogger is a [Logger] that writes to a logger of package log, with the level before each
// line.
type DefaultLogger struct {
	*log.Logger
	debug bool
}

// discard returns a logger that drops everything.
func discard() Logger { return &DefaultLogger{Logger: log.New(io.Discard, "", 0)} }

// EnableTimestamps puts the date and the time before each line.
func (l *DefaultLogger) EnableTimestamps() { l.SetFlags(l.Flags() | log.Ldate | log.Ltime) }

// EnableDebug logs what is for debugging, too.
func (l *DefaultLogger) EnableDebug() { l.debug = true }

// Debug logs its arguments if [DefaultLogger.EnableDebug] was called.
func (l *DefaultLogger) Debug(v ...interface{}) {
	if l.debug {
		l.line("DEBUG", fmt.Sprint(v...))
	}
}

// Debugf formats and logs if [DefaultLogger.EnableDebug] was called.
func (l *DefaultLogger) Debugf(format string, v ...interface{}) {
	if l.debug {
		l.line("DEBUG", fmt.Sprintf(format, v...))
	}
}

// Info logs its arguments.
func (l *DefaultLogger) Info(v ...interface{}) { l.line("INFO", fmt.Sprint(v...)) }

// Infof formats and logs.
func (l *DefaultLogger) Infof(format string, v ...interface{}) {
	l.line("INFO", fmt.Sprintf(format, v...))
}

// Error logs its arguments as an error.
func (l *DefaultLogger) Error(v ...interface{}) { l.line("ERROR", fmt.Sprint(v...)) }

// Errorf formats and logs an error.
func (l *DefaultLogger) Errorf(format string, v ...interface{}) {
	l.line("ERROR", fmt.Sprintf(format, v...))
}

// Warning logs its arguments as a warning.
func (l *DefaultLogger) Warning(v ...interface{}) { l.line("WARN", fmt.Sprint(v...)) }

// Warningf formats and logs a warning.
func (l *DefaultLogger) Warningf(format string, v ...interface{}) {
	l.line("WARN", fmt.Sprintf(format, v...))
}

// Fatal logs its arguments and ends the program.
func (l *DefaultLogger) Fatal(v ...interface{}) {
	l.line("FATAL", fmt.Sprint(v...))
	os.Exit(1)
}

// Fatalf formats, logs and ends the program.
func (l *DefaultLogger) Fatalf(format string, v ...interface{}) {
	l.line("FATAL", fmt.Sprintf(format, v...))
	os.Exit(1)
}

// Panic logs its arguments and panics.
func (l *DefaultLogger) Panic(v ...interface{}) { l.Logger.Panic(v...) }

// Panicf formats, logs and panics.
func (l *DefaultLogger) Panicf(format string, v ...interface{}) { l.Logger.Panicf(format, v...) }

// line writes a line that names the caller of its caller, if the flags ask for that.
func (l *DefaultLogger) line(level, text string) {
	_ = l.Output(3, level+": "+text) // a log that cannot be written has nowhere to say so
}

// events returns a logger for Stoat whose events go to a logger of bbolt.
func events(to Logger) *slog.Logger { return slog.New(&handler{to: to}) }

// handler is a handler of package slog that passes records on as lines.
type handler struct {
	to     Logger
	attrs  string // of the loggers derived from the first, each with a space before it
	prefix string // the open groups, each with a dot behind it
}

// Enabled reports whether records of this level are passed on; the logger decides.
func (h *handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle passes a record on as a line.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString(r.Message + h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		line.WriteString(h.text(a))
		return true
	})
	switch {
	case r.Level >= slog.LevelError:
		h.to.Error(line.String())
	case r.Level >= slog.LevelWarn:
		h.to.Warning(line.String())
	case r.Level >= slog.LevelInfo:
		h.to.Info(line.String())
	default:
		h.to.Debug(line.String())
	}
	return nil
}

// WithAttrs returns a handler that adds attributes to each line.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	derived := *h
	for _, a := range attrs {
		derived.attrs += h.text(a)
	}
	return &derived
}

// WithGroup returns a handler that puts name before the attributes to come.
func (h *handler) WithGroup(name string) slog.Handler {
	derived := *h
	derived.prefix += name + "."
	return &derived
}

func (h *handler) text(a slog.Attr) string { return " " + h.prefix + a.String() }
