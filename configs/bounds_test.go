package configs

import (
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// A spec that would cost memory without bound is refused before it is parsed.
func TestParseIsBounded(t *testing.T) {
	head := "apiVersion: quarry/v1alpha1\nkind: Run\n"
	for name, src := range map[string]string{
		"depth": head + "data: " + strings.Repeat("[a, ", 100_000),
		"size":  head + "# " + strings.Repeat("x", 2<<20),
	} {
		if _, err := Parse("f.yaml", []byte(src)); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "f.yaml") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, huge := range []string{"concurrency: 1000000000", "synth: {walks: 9000000000000000000}", "eval: {bootstrap: 9000000000000000000}", "rl: {group_size: 1000000000000}",
		"eval: {attempts: 99999999999}", "dpo: {samples: 99999999999}", "filter: {max_attempts: 99999999999}", "filter: {closed_book: 99999999999}", "filter: {single_query: 99999999999}"} {
		if _, err := Parse("f.yaml", []byte(head+huge+"\n")); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", huge, err)
		}
	}
}
