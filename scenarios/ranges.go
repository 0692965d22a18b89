package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var rangeForm = regexp.MustCompile(`^\s*(\d+)\.\.(\d+)(?::(\d+))?\s*$`)

// ranges writes out the ranges among the values of an axis: 1..4 is 1,2,3,4 and 2..10:4 is 2,6,10.
func ranges(values string) (string, error) {
	if !strings.Contains(values, "..") {
		return values, nil
	}
	var all []string
	for part := range strings.SplitSeq(values, ",") {
		m := rangeForm.FindStringSubmatch(part)
		if m == nil {
			all = append(all, part)
			continue
		}
		first, err1 := strconv.Atoi(m[1])
		last, err2 := strconv.Atoi(m[2])
		step, err3 := 1, error(nil)
		if m[3] != "" {
			step, err3 = strconv.Atoi(m[3])
		}
		switch {
		case err1 != nil || err2 != nil || err3 != nil || step < 1 || last < first:
			return "", fmt.Errorf("%s is no range, such as 1..40 or 2..64:2", strings.TrimSpace(short(part)))
		case (last-first)/step >= maxCells:
			return "", fmt.Errorf("%s has more than %d values", strings.TrimSpace(short(part)), maxCells)
		}
		for n := first; n <= last; n += step {
			all = append(all, strconv.Itoa(n))
		}
	}
	return strings.Join(all, ","), nil
}
