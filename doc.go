// Package quarry holds the nouns that every layer shares: statements and walks of a knowledge graph, questions,
// tasks, episodes with their token records, scorecards, pivots, pairs, and the one error type. It imports the
// standard library only and does no I/O.
//
// The way of one question through the packages:
//
//	kg        statements with provenance, documents, BM25 search
//	synth     walk -> Question, with a certificate, or a ledger line that says why not
//	rollout   Task -> Episode: the coordinator, the agent loop, the engine client, exact token records
//	rewards   Episode -> Scorecard, advantages, the coefficient schedule
//	pivot     failed Episode -> Pivot -> continuation Task
//	icepop    bypass ratio, mask and objective of the RL step;  sft, dpo: the same for their stages
//	datasets  Q1, S1, D1, R1, T1 as Parquet with a manifest
//	jobs      stages keyed by the digest of their inputs; the trainer that turns a dataset into weights
//	configs   specs and settings;  internal/cli composes everything
package quarry
