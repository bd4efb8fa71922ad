// Package bm25 is text search: an analyser, an inverted index that is built from a stream of passages, and a file of it
// that is memory-mapped and searched by many at once. The format is docs/formats/bm25.md.
//
// Scores are Okapi BM25 (Robertson et al., TREC-3) with Lucene's idf, ln(1 + (N-df+0.5)/(df+0.5)), kept as impacts of 16
// bits and summed as integers. Integer sums do not depend on the order of their terms, nor on whether a processor fuses
// a multiplication with an addition, so that the best k found by skipping (MaxScore: Turtle and Flood 1995, in windows of
// passages with block maxima as in Ding and Suel 2011) are, bit by bit, those of scoring everything.
package bm25
