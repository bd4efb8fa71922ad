package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/decontam"
	"github.com/quarry-rl/quarry/synth/pipeline"
)

// withBenchmarks adds --decontaminate to the options of a synthesis.
func withBenchmarks(a *app, cmd *cobra.Command, options func(*cobra.Command) (pipeline.Options, error)) func(*cobra.Command) (pipeline.Options, error) {
	files := cmd.PersistentFlags().StringArray("decontaminate", nil, "benchmark, plain or hashed, that no question may come from; may be given again")
	return func(cmd *cobra.Command) (pipeline.Options, error) {
		o, err := options(cmd)
		if err != nil {
			return o, err
		}
		o.Benchmarks, err = a.benchmarks(cmd.Context(), *files)
		return o, err
	}
}

func (a *app) benchmarks(ctx context.Context, files []string) ([]*decontam.Benchmark, error) {
	var out []*decontam.Benchmark
	for _, f := range files {
		path, err := a.input(f, "give a benchmark as JSON lines or text, or what quarry synth hash-benchmark wrote")
		if err != nil {
			return nil, err
		}
		b, err := decontam.Load(ctx, path)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

type hashedDoc struct {
	Path string `json:"path"`
	decontam.Summary
	Digest string `json:"digest"`
}

func newSynthHash(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hash-benchmark SOURCE --out FILE",
		Short: "Turn a benchmark into salted hashes, for --decontaminate",
		Long: "Hash-benchmark reads questions (JSON lines, a JSON array, or text with one question a line) and writes hashes that find\n" +
			"them again and cannot be read. With - it reads what another program writes, so that a benchmark that is distributed\n" +
			"encrypted never lies in clear: decrypt FILE | quarry synth hash-benchmark - --out FILE",
		Example: "  quarry synth hash-benchmark benchmark.jsonl --out benchmark.qdecon\n  quarry synth hash-benchmark - --out benchmark.qdecon",
		Args:    exactArgs("SOURCE"),
	}
	out := cmd.Flags().String(flagOut, "", "file to write")
	name := cmd.Flags().String(flagName, "benchmark", "name of the benchmark that is read with -")
	replace := cmd.Flags().Bool(flagReplace, false, "replace an earlier file; the salt is drawn anew, so that folders made with the earlier one do not go on")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagOut); err != nil {
			return err
		}
		doc := hashedDoc{Path: a.Path(*out)}
		if err := freeFile(doc.Path, *replace); err != nil {
			return err
		}
		var err error
		if args[0] == "-" {
			if a.Stdin == nil {
				return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Subject: "-", Msg: "there is no standard input", Hint: "give a file"}
			}
			doc.Summary, err = decontam.HashFrom(cmd.Context(), *name, a.Stdin, doc.Path)
		} else {
			var source string
			if source, err = a.input(args[0], "give a benchmark as JSON lines or text"); err != nil {
				return err
			}
			doc.Summary, err = decontam.HashFile(cmd.Context(), source, doc.Path)
		}
		if err != nil {
			return err
		}
		b, err := decontam.Load(cmd.Context(), doc.Path)
		if err != nil {
			return err
		}
		doc.Digest = b.Digest()
		return a.print(doc, []row{{"questions", doc.Questions}, {"with an answer", doc.Answers}, {"with pages", doc.Pages}, {"digest", doc.Digest}, {"file", doc.Path}})
	}
	return cmd
}

// freeFile refuses to write over a file that nobody said may be replaced.
func freeFile(path string, replace bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && replace && info.Mode().IsRegular():
		return newFile(path)
	case err != nil:
		return newFile(path) // says what is wrong with the folder
	case !info.Mode().IsRegular():
		return &quarry.Error{Op: "write", Kind: quarry.KindExists, Subject: path, Msg: "is no regular file", Hint: "name another file"}
	}
	return &quarry.Error{Op: "write", Kind: quarry.KindExists, Subject: path, Msg: "a file is there", Hint: "add --replace to replace it, or name another file"}
}
