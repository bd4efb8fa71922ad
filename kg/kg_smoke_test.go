package kg

import "testing"

func TestSmoke(t *testing.T) {
	g, err := Load("../examples/wiki")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", g.Stats())
	for _, p := range g.Search("Willi Schneider born", 3) {
		t.Log(g.Passages[p])
	}
}
