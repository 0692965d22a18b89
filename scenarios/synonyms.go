package scenarios

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"poolwise/sim/wording"
	"poolwise/workload"
)

// synonyms are words for one thing in other pools, load generators and databases, each group with the keys of scenarios among
// them, the most usual first. They are for suggestions only: a scenario has one word for a thing.
var synonyms = [][]string{
	// Options of pools and poolers.
	{"max_connections", "max", "max_total", "max_size", "default_pool_size",
		"size", "pool_size", "max_pool_size", "maximum_pool_size", "max_open", "max_open_conns", "max_open_connections", "max_conns",
		"maximum", "capacity", "permits", "connections", "limit", "max_active"},
	{"min_connections", "min_pool_size", "min", "min_idle", "minimum_idle", "min_size", "min_conns", "minimum"},
	{"acquire_timeout", "checkout_timeout", "query_wait_timeout", "timeout", "connection_timeout", "connect_timeout", "wait_timeout",
		"max_wait", "max_wait_millis", "pool_timeout", "borrow_timeout", "get_timeout"},
	{"max_lifetime", "server_lifetime", "lifetime", "max_life", "max_age", "recycle", "pool_recycle", "max_conn_lifetime", "conn_max_lifetime"},
	{"idle_timeout", "server_idle_timeout", "max_idle", "max_idle_time", "max_conn_idle_time", "conn_max_idle_time"},
	{"test_before_acquire", "test_on_acquire", "validate", "pre_ping", "pool_pre_ping", "test_on_borrow", "validation", "ping"},
	{"max_client_connections", "max_client_conn", "max_clients", "clients"},
	{"mode", "pool_mode"},
	// The server.
	{"connection_limit", "max_connections", "max_conns", "limit", "connections"},
	{"superuser_reserved", "superuser_reserved_connections"},
	{"cores", "cpus", "cpu", "vcpu", "vcpus", "cpu_cores"},
	{"connect", "connect_time", "connect_latency", "handshake", "login"},
	{"round_trip", "rtt", "network", "network_latency", "latency", "ping_time"},
	// Workloads and their steps.
	{"clients", "users", "vus", "concurrency", "workers", "connections"},
	{"arrivals", "rate", "arrival_rate", "rps", "qps", "load"},
	{"poisson", "rate", "random", "exponential", "arrival_rate", "rps", "qps"},
	{"constant", "rate", "fixed", "const", "value", "regular", "uniform"},
	{"request", "requests", "steps", "program", "transaction"},
	{"think", "think_time", "pause"},
	{"stagger", "ramp_up", "rampup", "ramp"},
	{"repeat", "iterations", "loops", "requests_per_client", "times", "count"},
	{"deadline", "timeout", "request_timeout"},
	{"retry", "retries", "retry_policy"},
	{"attempts", "max_attempts", "tries", "retries", "max_retries"},
	{"backoff", "delay", "initial_backoff", "wait"},
	{"max_backoff", "backoff_max", "max_delay"},
	{"call", "sleep", "wait", "http", "delay", "pause", "work", "compute", "rest", "rpc"},
	{"query", "sql", "select", "insert", "update", "exec", "execute", "statement", "db"},
	{"acquire", "borrow", "checkout", "get", "get_connection", "connect", "open"},
	{"return", "release", "give_back", "put", "checkin", "close"},
	{"act", "begin", "commit", "rollback"},
	// Distributions.
	{"p50", "median"},
	{"exponential", "exp", "expo", "poisson"},
	{"lognormal", "log_normal", "normal", "gaussian"},
	{"mean", "avg", "average", "rate"},
	{"sigma", "stddev", "sd", "std"},
	{"at_most", "max", "cap", "limit"},
	// Scenarios, services and actions.
	{"about", "description", "desc", "title"},
	{"until", "duration", "length", "run_for", "stop_at", "end"},
	{"warmup", "warm_up", "ramp_up"},
	{"replications", "repetitions", "runs", "repeats", "samples"},
	{"checks", "thresholds", "assertions", "slo", "slos", "expect", "objectives"},
	{"sweep", "matrix", "over", "grid", "parameters"},
	{"workload", "load", "traffic", "clients", "arrivals", "request"},
	{"server", "database", "db", "postgres", "postgresql", "mysql"},
	{"services", "service", "apps", "applications", "programs"},
	{"pooler", "pgbouncer", "proxy"},
	{"instances", "replicas", "pods", "count", "copies"},
	{"do", "action", "what"},
	{"at", "time", "when"},
	{"for", "duration"},
	{"down", "downtime", "for", "duration", "start_after"},
	{"expr", "expression", "check", "metric"},
	{"level", "severity"},
}

// synonym returns the first of the names that is a word for what word is meant to be, and whether there is one.
func synonym(word string, names []string) (string, bool) {
	for _, group := range synonyms {
		if !slices.ContainsFunc(group, func(s string) bool { return wording.Same(s, word) }) {
			continue
		}
		for _, s := range group {
			if slices.Contains(names, s) {
				return s, true
			}
		}
	}
	return "", false
}

// stepMeant is the rest of a message about a text that is no step: which step was probably meant. It is empty for other types.
func stepMeant(t reflect.Type, text string) string {
	if t != reflect.TypeFor[workload.Step]() {
		return ""
	}
	word, value, _ := strings.Cut(strings.TrimSpace(text), " ")
	word = strings.TrimSuffix(word, ":")
	keys := fieldsOf(t).names()
	meant, ok := word, slices.Contains(keys, word)
	if !ok {
		meant, ok = synonym(word, keys)
	}
	if words := wordsOf(t, ""); !ok {
		meant, ok = wording.Nearest(word, append(words, keys...))
		if slices.Contains(words, meant) {
			return ", did you mean " + meant + "?"
		}
	}
	switch {
	case !ok:
		return ""
	case meant == "acquire":
		return ", did you mean acquire?"
	case meant == "return":
		return ", did you mean release?"
	}
	example := map[string]string{"query": "5ms", "call": "30ms", "leak": "1%", "fail": "1%", "cancel": "{after: 1s}"}[meant]
	if example == "" {
		return ""
	}
	return ", did you mean {" + meant + ": " + cmp.Or(strings.TrimSpace(value), example) + "}?"
}
