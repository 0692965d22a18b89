# What the project's developers run. Everything needs Go and nothing else; the first run fetches the modules.

.PHONY: test demo bench profile validate lint race fuzz golden ci

test: ## all tests
	go vet ./...
	go test ./...

demo: ## the sizing curve of the first built-in scenario, with plots in out/
	go run ./cmd/poolwise run sizing-knee --plots out

PROFILE = cmd/poolwise/default.pgo
bench: ## poolwise, built as users get it, against the bare loops, in alternation: ratios and allocations
	go test ./scenarios/run -pgo $(CURDIR)/$(PROFILE) -run '^$$' -bench '^BenchmarkSpeed$$' -benchtime 1x -timeout 30m

profile: ## what the compiler is told of the paths that are taken most: about a tenth less time
	go test ./scenarios/run -run '^$$' -bench '^BenchmarkModels$$' -benchtime 5s -cpuprofile $(PROFILE) -o $(or $(TMPDIR),/tmp)/models.test

validate: ## simulated against exact, for queues that are known exactly
	go test ./scenarios/run -run '^TestValidation$$' -v

lint: ## formatting, vet and staticcheck
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go tool staticcheck ./...

race: ## the packages that use more than one goroutine, under the race detector
	go test -race ./scenarios/run -run 'Bytes|Seeds|Checks|Interrupt|Circles|Leaked|Precision|Workers'
	go test -race ./cmd/poolwise -run 'Scripts/(run|same_bytes|interrupt|status)'

FUZZTIME ?= 5s
fuzz: ## every fuzz target, for a short time each
	@set -e; for pkg in $$(go list ./...); do \
		for f in $$(go test $$pkg -list '^Fuzz' | grep '^Fuzz' || true); do \
			echo "$$pkg $$f"; go test $$pkg -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME); \
		done; done

golden: ## the recorded cases of the real pools, case by case
	go test ./pool/pooltest -run Golden -v

ci: lint test race fuzz golden
