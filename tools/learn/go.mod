module github.com/quarry-rl/quarry/tools/learn

go 1.26.0

require github.com/quarry-rl/quarry v0.0.0

require golang.org/x/text v0.44.0 // indirect

replace github.com/quarry-rl/quarry => ../..
