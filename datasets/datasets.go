// Package datasets holds the five record types that leave quarry as Parquet: questions (Q1), SFT conversations (S1),
// preference pairs (D1), RL prompts (R1) and token-level RL samples (T1). It turns nouns of the root package into rows
// and back, checks every row, and writes and reads dataset directories:
//
//	NAME/manifest.json                       written last: kind, schema version, files with digests, lineage
//	NAME/README.md                           a card that the Hugging Face loader understands
//	NAME/data/train-00000-of-00002.parquet   shards
//
// The same rows in the same order give the same bytes, so Manifest.Digest identifies the content. A dataset appears
// under its name whole or not at all. docs/formats describes every column.
package datasets

// Row is one of the record types.
type Row interface {
	Q1 | S1 | D1 | R1 | T1

	spec() spec
	key() string
	check(*checker)
}

// spec is what the writer and the reader know of a record type.
type spec struct {
	kind    string // "S1": also the name of the Parquet message
	version int    // of the columns; a change of a column's name, type or meaning counts it up
	// short lists the top-level text columns that keep page statistics. Their values are at most maxShort bytes: a long
	// value in a page header makes a file that other readers refuse.
	short []string
}

// Limits of a row.
const (
	maxShort = 4 << 10   // bytes of an identifier
	maxValue = 64 << 20  // bytes of any value
	maxRow   = 256 << 20 // bytes of a row: with a row group's 64 MiB it stays below 1 GiB a column
)

func specOf[T Row]() spec {
	var row T
	return row.spec()
}

// Validate checks one row by the rules the writer applies, without its place in a dataset. The error is invalid and
// names column, value and what was expected.
func Validate[T Row](row T) error {
	var c checker
	row.check(&c)
	if c.bad == nil {
		return nil
	}
	return c.bad.error(row.spec().kind, row.key())
}
