package semaphore_test

import (
	"testing"

	"poolwise/pool/pooltest"
)

func TestTalk(t *testing.T) { pooltest.Talk(t, "semaphore", pooltest.Hooks{}) }
