package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"poolwise/sim/record"
)

// readSaved reads a saved result.
func readSaved(path string) (*record.Result, error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such file; want a result saved with --format json", path)
	case err != nil:
		return nil, at(path, err)
	}
	defer file.Close()
	res, err := record.ReadResult(file)
	if errors.Is(err, syscall.EISDIR) {
		err = errors.New("this is a folder; want a result saved with --format json")
	}
	return res, at(path, err)
}

// hasSchema reports whether a text is JSON that names its schema, as saved results do and scenarios do not.
func hasSchema(text []byte) bool {
	var head struct {
		Schema json.RawMessage `json:"schema"`
	}
	return json.Unmarshal(text, &head) == nil && head.Schema != nil
}

// looksSaved reports whether a text is meant as a saved result rather than as a scenario: it has a schema, or is no JSON, but has
// the name of a JSON file.
func looksSaved(name string, text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	return hasSchema(text) || filepath.Ext(name) == ".json" && !json.Valid(text)
}
