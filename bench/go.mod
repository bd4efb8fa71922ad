module github.com/quarry-rl/quarry/bench

go 1.26.0
