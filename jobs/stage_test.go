package jobs

import "testing"

func TestWhatChangesTheKey(t *testing.T) {
	base := writer("a", "a")
	key := func(edit func(*Stage)) string {
		s := base
		edit(&s)
		k, err := s.Key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	want := key(func(*Stage) {})
	same := map[string]func(*Stage){
		"a struct with the same JSON": func(s *Stage) {
			s.Spec = struct {
				N int `json:"n"`
			}{1}
		},
		"resumable is how, not what": func(s *Stage) { s.Resumable = true },
	}
	for name, edit := range same {
		if key(edit) != want {
			t.Errorf("%s: another key", name)
		}
	}
	seen := map[string]string{want: "base"}
	for name, edit := range map[string]func(*Stage){
		"name":         func(s *Stage) { s.Name = "other" },
		"logic":        func(s *Stage) { s.Logic++ },
		"spec":         func(s *Stage) { s.Spec = map[string]any{"n": 2} },
		"no spec":      func(s *Stage) { s.Spec = nil },
		"seed":         func(s *Stage) { s.Seed++ },
		"input digest": func(s *Stage) { s.Inputs = []Input{{"kg", "ab"}} },
		"input name":   func(s *Stage) { s.Inputs = []Input{{"graph", "aa"}} },
		"more inputs":  func(s *Stage) { s.Inputs = []Input{{"kg", "aa"}, {"s1", "bb"}} },
		"no inputs":    func(s *Stage) { s.Inputs = nil },
	} {
		k := key(edit)
		if was, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", name, was)
		}
		seen[k] = name
	}
	ab := key(func(s *Stage) { s.Inputs = []Input{{"a", "1"}, {"b", "2"}} })
	if ab != key(func(s *Stage) { s.Inputs = []Input{{"b", "2"}, {"a", "1"}} }) {
		t.Error("the order of inputs changes the key")
	}
	// A golden key: a change here throws away every cached stage of every user.
	if golden := "5fdeee0c69fdcb15a7fda2f2661a5768a317466bdc521affafd2af2be5042c2a"; want != golden {
		t.Errorf("key %s, golden %s", want, golden)
	}
}
