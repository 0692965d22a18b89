package scenarios

import "testing"

func TestRanges(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"1..4", "1,2,3,4"},
		{"9223372036854775805..9223372036854775807:2", "9223372036854775805,9223372036854775807"},
		{"2..10:4", "2,6,10"},
		{"2..11:4", "2,6,10"},
		{"7..7", "7"},
		{"1..3, 8 ,16..32:8", "1,2,3, 8 ,16,24,32"},
		{"2,4,8", "2,4,8"},
		{"5ms,1.5s", "5ms,1.5s"},
		{"{a: [1, 2]},none", "{a: [1, 2]},none"},
		{"a..b", "a..b"},
		{"../other", "../other"},
	} {
		got, err := ranges(c.values)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.values, got, err, c.want)
		}
	}
	for _, bad := range []string{"4..1", "1..4:0", "1..99999999999999999999", "0..10000", "1,5..2"} {
		if got, err := ranges(bad); err == nil {
			t.Errorf("%s: %q, want an error", bad, got)
		}
	}
	s, cells, err := Load("x.yaml", []byte(`
until: 1s
pool: {model: semaphore}
workload: {clients: 1, request: [acquire, release]}
`), Options{Over: []string{"pool.max=1..3,8"}})
	if err != nil || len(cells) != 4 || cells[2].Settings.String() != "pool.max=3" || s.Sweep[0].Points[3].Label != "8" {
		t.Errorf("%d cells, %v", len(cells), err)
	}
	_, _, err = Load("x.yaml", []byte("until: 1s\n"), Options{Over: []string{"pool.max=3..1"}})
	if err == nil {
		t.Error("no error for a range that goes down")
	}
}
