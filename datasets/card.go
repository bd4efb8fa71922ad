package datasets

import (
	"fmt"
	"strings"
)

// about says in a line what a kind is for.
func about(kind string) string {
	return map[string]string{
		"Q1": "synthesised multi-hop questions with their evidence paths",
		"S1": "conversations for supervised fine-tuning",
		"D1": "preference pairs",
		"R1": "prompts for reinforcement learning",
		"T1": "token-level samples for reinforcement learning, with the logprobs and weight versions they were sampled with",
	}[kind]
}

// card is README.md: front matter for the Hugging Face loader, then what a reader wants to know first. It holds no time
// and no machine, so that the same dataset has the same card.
func card(name string, m Manifest, meta Meta) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	if meta.License != "" {
		fmt.Fprintf(&b, "license: %q\n", meta.License)
	}
	b.WriteString("configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/train-*.parquet\n---\n\n")
	fmt.Fprintf(&b, "# %s\n\n%s version %d: %s.\n\n", name, m.Kind, m.SchemaVersion, about(m.Kind))
	if meta.Note != "" {
		fmt.Fprintf(&b, "%s\n\n", meta.Note)
	}
	fmt.Fprintf(&b, "| | |\n|---|---|\n| rows | %d |\n", m.Rows)
	if m.Tokens > 0 {
		fmt.Fprintf(&b, "| tokens | %d |\n", m.Tokens)
	}
	fmt.Fprintf(&b, "| shards | %d |\n| digest | %s |\n", len(m.Files), m.Digest())
	if meta.Producer != "" {
		fmt.Fprintf(&b, "| producer | %s |\n", meta.Producer)
	}
	for _, p := range m.Parents {
		fmt.Fprintf(&b, "| made from %s | %s |\n", p.Kind, p.Digest)
	}
	b.WriteString("\nmanifest.json lists the files with their digests. Written by quarry.\n")
	return []byte(b.String())
}
