package ingest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// joinTokens writes tokens as text: parted by single blanks, but none before closing punctuation and after an opening
// bracket, and the endings that a tokenizer cuts off ('s, n't, 're ...) put back.
func joinTokens(tokens []string) string {
	var b strings.Builder
	glue := true // at the start and after an opening bracket
	for _, w := range strings.Fields(strings.Join(tokens, " ")) {
		if !glue && !strings.ContainsRune(",.;:!?%)]}", rune(w[0])) && !clitic(w) {
			b.WriteByte(' ')
		}
		b.WriteString(w)
		glue = strings.ContainsRune("([{", rune(w[len(w)-1]))
	}
	return b.String()
}

func clitic(w string) bool {
	for _, c := range []string{"'s", "n't", "'re", "'ve", "'ll", "'m", "'d"} {
		if rest, ok := strings.CutPrefix(w, c); ok {
			r, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}
	}
	return false
}

// mentionName is a mention without doubled blanks and without a leading article.
func mentionName(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 4 && strings.EqualFold(s[:4], "the ") {
		s = s[4:]
	}
	return s
}

// sentencesOf cuts a text into sentences that, joined by one blank, give it again byte by byte: white space that is no
// blank becomes one, and a sentence ends where one of .!? with closing quotes or brackets stands before a single blank.
func sentencesOf(text string) []string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' || r == '\v' || r == '\f' {
			return ' '
		}
		return r
	}, text)
	var out []string
	from := 0
	for i := 0; i+1 < len(text); i++ {
		if text[i] != ' ' || i == from || text[i+1] == ' ' || text[i-1] == ' ' {
			continue
		}
		end := strings.TrimRight(text[from:i], "\"')]”’")
		if end != "" && strings.ContainsRune(".!?", rune(end[len(end)-1])) {
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
}
