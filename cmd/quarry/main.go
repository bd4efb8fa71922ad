// Command quarry is everything that runs on one machine.
package main

import (
	"context"
	"os"

	"github.com/quarry-rl/quarry/internal/cli"
)

// version is set by releases: go build -ldflags "-X main.version=v0.1.0".
var version = "dev"

func main() {
	os.Exit(cli.Run(context.Background(), cli.NewState(version)))
}
