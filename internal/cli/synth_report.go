package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/synth/pipeline"
)

type synthReportDoc struct {
	pipeline.Report
	Each *costEach `json:"cost_per_accepted"` // null without a question
	HTML string    `json:"html,omitempty"`
}

// costEach is what an accepted question took.
type costEach struct {
	Walks        float64  `json:"walks"`
	Calls        float64  `json:"calls"`
	PromptTokens float64  `json:"prompt_tokens"`
	OutputTokens float64  `json:"output_tokens"`
	Price        *float64 `json:"price"` // null without a price
}

func costOf(r pipeline.Report, p pipeline.Price) *costEach {
	if r.Accepted == 0 {
		return nil
	}
	n := float64(r.Accepted)
	e := &costEach{Walks: float64(r.Walks) / n, Calls: float64(r.Cost.Calls) / n, PromptTokens: float64(r.Cost.PromptTokens) / n, OutputTokens: float64(r.Cost.OutputTokens) / n}
	if p != (pipeline.Price{}) {
		price := p.Of(r.Cost) / n
		e.Price = &price
	}
	return e
}

func newSynthReport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "report DIR",
		Short:   "Say from the ledger what became of the walks: in, out, reasons and cost per accepted question",
		Example: "  quarry synth report questions\n  quarry synth report questions --html report.html\n  quarry synth report questions -o json",
		Args:    exactArgs("DIR"),
	}
	f := cmd.Flags()
	page := f.String("html", "", "write one self-contained page to this file, too")
	var price pipeline.Price
	f.Float64Var(&price.Call, "price-call", 0, "price of a call of a model, in any currency")
	f.Float64Var(&price.PromptTokens, "price-in", 0, "price of a million tokens that models read")
	f.Float64Var(&price.OutputTokens, "price-out", 0, "price of a million tokens that models write")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for name, v := range map[string]float64{"price-call": price.Call, "price-in": price.PromptTokens, "price-out": price.OutputTokens} {
			if !(v >= 0) || math.IsInf(v, 0) {
				return badFlag(cmd, name, "a number from 0 on")
			}
		}
		dir, err := a.folder(args[0], "quarry synth writes it")
		if err != nil {
			return err
		}
		doc := synthReportDoc{}
		if doc.Report, err = pipeline.Read(dir); err != nil {
			return err
		}
		doc.Each = costOf(doc.Report, price)
		rows := append(reportRows(doc.Report), costRows(doc.Report, doc.Each)...)
		if *page != "" {
			doc.HTML = a.Path(*page)
			if err := a.writePage(dir, doc); err != nil {
				return err
			}
			rows = append(rows, row{"page", doc.HTML})
		}
		return a.print(doc, rows)
	}
	return cmd
}

// costRows are the cost in all and for an accepted question.
func costRows(r pipeline.Report, each *costEach) []row {
	rows := []row{{"calls of models", r.Cost.Calls}, {"tokens in", r.Cost.PromptTokens}, {"tokens out", r.Cost.OutputTokens}}
	if each == nil {
		return append(rows, row{"an accepted question", "none was accepted"})
	}
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
	rows = append(rows, row{"an accepted question", fmt.Sprintf("%s walks, %s calls, %s tokens in, %s tokens out", short(each.Walks), short(each.Calls), short(each.PromptTokens), short(each.OutputTokens))})
	if each.Price != nil {
		rows = append(rows, row{report.CostPerQuestion, short(*each.Price)})
	}
	return rows
}

func (a *app) writePage(dir string, doc synthReportDoc) error {
	head, err := pipeline.ReadHead(dir)
	if err != nil {
		return err
	}
	p := report.SynthPage{Name: filepath.Base(dir), Quarry: a.Version, Digest: doc.Digest, Walks: doc.Walks, Accepted: doc.Accepted, Lost: doc.Conservation}
	for _, s := range doc.Stages {
		rejected := report.Reasons{}
		var whys []pipeline.Reason
		for why, n := range s.Rejected {
			rejected[string(why)] = n
			whys = append(whys, why)
		}
		p.Funnel = append(p.Funnel, report.FunnelStep{Name: string(s.Name), In: s.In, InUnit: "candidates", Passed: s.Out, Rejected: rejected, Out: s.Out, OutUnit: "candidates"})
		slices.SortFunc(whys, func(x, y pipeline.Reason) int {
			return cmp.Or(cmp.Compare(s.Rejected[y], s.Rejected[x]), cmp.Compare(x, y))
		})
		for _, why := range whys {
			says, do := pipeline.Explain(why)
			p.Reasons = append(p.Reasons, report.SynthReason{Stage: string(s.Name), Reason: string(why), Count: s.Rejected[why], Says: says, Do: do})
		}
	}
	for _, r := range costRows(doc.Report, doc.Each) {
		p.Cost = append(p.Cost, report.Fact{Name: r.name, Text: fmt.Sprint(r.value)})
	}
	for _, s := range head.Settings {
		p.Settings = append(p.Settings, report.Fact{Name: s.Name, Text: s.Value})
	}
	var b bytes.Buffer
	if err := report.SynthHTML(&b, p); err != nil {
		return err
	}
	return atomicfile.WriteFile(doc.HTML, b.Bytes())
}
