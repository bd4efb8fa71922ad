// Package telemetry builds the logger. Results go to stdout and never through it.
package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/quarry-rl/quarry"
)

// NewLogger returns a logger that writes records of at least level (debug, info, warn, error) to w, one a line: JSON
// when asJSON, else key=value text. Error: KindInvalid for another level.
func NewLogger(w io.Writer, level string, asJSON bool) (*slog.Logger, error) {
	var least slog.Level
	switch level {
	case "debug":
		least = slog.LevelDebug
	case "info":
		least = slog.LevelInfo
	case "warn":
		least = slog.LevelWarn
	case "error":
		least = slog.LevelError
	default:
		return nil, &quarry.Error{Op: "log", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("level %q", level),
			Msg: "expected one of " + strings.Join([]string{"debug", "info", "warn", "error"}, ", ")}
	}
	opts := &slog.HandlerOptions{Level: least}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return slog.New(slog.NewTextHandler(w, opts)), nil
}
