package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The limits of a scenario file. They are far above what a scenario needs and keep hostile files from costing minutes or
// gigabytes: long data belongs in CSV files of its own.
const (
	maxBytes  = 1 << 20 // of the file
	maxDepth  = 64      // mappings and lists within each other
	maxKeys   = 1000    // in one mapping
	maxNodes  = 1 << 20 // values, with every alias counted as what it stands for
	maxBlank  = 1000    // empty lines on end
	maxAbsent = 1000    // keys and list items without a value
)

// source is a YAML text that is being read.
type source struct {
	file    string
	at      place // of all that is in it, if it is an override
	lines   []string
	dashed  map[int]bool                   // lines that were read as if they began with the dash that they lack
	seen    struct{ line, col, bytes int } // the last place that was counted out: the next is mostly behind it
	anchors map[string]*node
	errs    Errors
}

// parse reads a YAML document into a tree, nil if it has no value or is no YAML. An override has a place of its own; the file's is zero.
func parse(file string, text []byte, at place) (*node, Errors) {
	s := &source{file: file, at: at, anchors: map[string]*node{}}
	return s.document(text), s.errs
}

// bad notes a mistake at a line and a column in characters.
func (s *source) bad(line, col int, format string, args ...any) {
	p := s.place(line, col)
	s.errs = append(s.errs, p.error(s.file, "", fmt.Sprintf(format, args...)))
}

// place returns the place of a line and a column in characters.
func (s *source) place(line, col int) place {
	if s.at.from != "" {
		return s.at
	}
	line = max(1, min(line, len(s.lines)))
	if len(s.lines) == 0 {
		return place{line: 1, col: 1}
	}
	if s.dashed[line] {
		col = max(col-len(dash), indent(s.lines[line-1])+1)
	}
	at := &s.seen
	if line != at.line || col < at.col {
		at.line, at.col, at.bytes = line, 1, 0
	}
	for text := s.lines[line-1]; at.col < col && at.bytes < len(text); at.col++ {
		_, n := utf8.DecodeRuneInString(text[at.bytes:])
		at.bytes += n
	}
	return place{line: line, col: at.bytes + 1}
}

func (s *source) token(tk *token.Token) place {
	if tk == nil || tk.Position == nil {
		return s.place(1, 1)
	}
	p := s.place(tk.Position.Line, tk.Position.Column)
	if p.line > 0 && p.line <= len(s.lines) { // the lexer counts a tab before a value as nothing
		for line := s.lines[p.line-1]; p.col < len(line) && line[p.col-1] == '\t'; {
			p.col++
		}
	}
	return p
}

func (s *source) badToken(tk *token.Token, format string, args ...any) {
	s.errs = append(s.errs, s.token(tk).error(s.file, "", fmt.Sprintf(format, args...)))
}

// syntax notes a mistake that the lexer or the parser found.
func (s *source) syntax(tk *token.Token, message string) {
	if strings.Contains(message, "tab character") || strings.Contains(message, "character '\t'") {
		p := s.token(tk)
		if p.line > 0 { // the token may begin behind the tab
			p.col = max(strings.IndexByte(s.lines[p.line-1], '\t'), 0) + 1
		}
		s.errs = append(s.errs, p.error(s.file, "", "a tab cannot indent; use spaces"))
		return
	}
	if line := s.tooDeep(tk, message); line > 0 {
		s.bad(line, indent(s.lines[line-1])+1, "this is indented deeper than the key before it, which has its value already")
		return
	}
	s.badToken(tk, "%s", explain(message))
}

// tooDeep returns the line of a key that the parser took for the rest of the value of the key before it, 0 if it is not that.
func (s *source) tooDeep(tk *token.Token, message string) int {
	if s.at.from != "" || tk == nil || tk.Position == nil || !strings.Contains(message, "value is not allowed in this context") {
		return 0
	}
	key, at := 0, tk.Position.Line // of that before, and of where the parser gave up: there, or behind a comment
	for i, line := range s.lines {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#':
		case i+1 < at || key == 0 || i+1 == at && indent(line) <= indent(s.lines[key-1]):
			key = i + 1
		case keyLike.MatchString(text) && indent(line) > indent(s.lines[key-1]) && keyAndValue.MatchString(strings.TrimSpace(s.lines[key-1])):
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// keyAndValue is a line that has a key and a plain value.
var keyAndValue = regexp.MustCompile(`^[\w.]+:\s+[^\s#|>&*{\["'][^:]*$`)

// keyLike is a line that begins with a key.
var keyLike = regexp.MustCompile(`^[\w.]+:(\s|$)`)

// dash begins an item of a list.
const dash = "- "

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// undashed returns the line of a key that stands among the items of a list and has no dash, 0 if the mistake is not that.
func (s *source) undashed(tk *token.Token) int {
	if s.at.from != "" || tk == nil || tk.Position == nil {
		return 0
	}
	n := tk.Position.Line
	if n < 2 || n > len(s.lines) || s.dashed[n] || !keyLike.MatchString(strings.TrimSpace(s.lines[n-1])) {
		return 0
	}
	for i := n - 2; i >= 0; i-- {
		text := strings.TrimSpace(s.lines[i])
		switch {
		case text == "" || text[0] == '#':
		case indent(s.lines[i]) > indent(s.lines[n-1]): // within the item before
		case indent(s.lines[i]) == indent(s.lines[n-1]) && (strings.HasPrefix(text, dash) || s.dashed[i+1]):
			return n
		default:
			return 0
		}
	}
	return 0
}

// maxDashes is how many missing dashes are filled in, to find the other mistakes.
const maxDashes = 20

func (s *source) document(raw []byte) *node {
	text, ok := s.text(raw)
	if !ok {
		return nil
	}
	s.dashed = map[int]bool{}
	for {
		tokens, ok := s.tokens(text)
		if !ok || !s.guard(tokens) {
			return nil
		}
		file, err := parseTokens(tokens)
		if err == nil {
			return s.root(file)
		}
		var syntax yaml.Error
		if !errors.As(err, &syntax) {
			s.bad(1, 1, "this is not YAML: %v", err)
			return nil
		}
		line := s.undashed(syntax.GetToken())
		if line == 0 || len(s.dashed) >= maxDashes {
			s.syntax(syntax.GetToken(), syntax.GetMessage())
			return nil
		}
		at := indent(s.lines[line-1])
		s.bad(line, at+1, "want %q before this: it stands among the items of a list", dash)
		s.dashed[line] = true
		lines := strings.Split(text, "\n")
		lines[line-1] = lines[line-1][:at] + dash + lines[line-1][at:]
		text = strings.Join(lines, "\n")
	}
}

// root converts the one document of a file, nil if it is empty.
func (s *source) root(file *ast.File) *node {
	for _, doc := range file.Docs {
		if doc.Body != nil {
			n := s.node(doc.Body)
			switch {
			case n.size > maxNodes:
				s.bad(1, 1, "its aliases stand for more than %d values", maxNodes)
				return nil
			case n.depth > maxDepth:
				s.bad(1, 1, "its aliases stand for more than %d levels within each other", maxDepth)
				return nil
			}
			return n
		}
	}
	return nil
}

// text checks the bytes and returns them as a text whose lines end in \n.
func (s *source) text(raw []byte) (string, bool) {
	if len(raw) > maxBytes {
		s.bad(1, 1, "it has %d bytes; want at most %d, with long data in CSV files of their own", len(raw), maxBytes)
		return "", false
	}
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		s.bad(1, 1, "it is UTF-16; want UTF-8")
		return "", false
	}
	text := strings.TrimPrefix(string(raw), "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	s.lines = strings.Split(text, "\n")
	blank := 0
	for i, line := range s.lines {
		if strings.TrimSpace(line) == "" {
			blank++
		} else {
			blank = 0
		}
		if blank > maxBlank {
			s.bad(i+1, 1, "more than %d empty lines", maxBlank)
			return "", false
		}
		col := 0
		for b, c := range line {
			col++
			if c == utf8.RuneError && !strings.HasPrefix(line[b:], "\ufffd") {
				s.bad(i+1, col, "byte %#02x is not UTF-8", line[b])
				return "", false
			}
			if c < ' ' && c != '\t' || c == 0x7f || c == '\ufeff' {
				s.bad(i+1, col, "control character %U", c)
				return "", false
			}
		}
	}
	return text, true
}

// tokens splits the text. The lexer is not ours: what makes it panic is a mistake in the text.
func (s *source) tokens(text string) (tokens token.Tokens, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			s.bad(1, 1, "this is not YAML: %v", r)
			tokens, ok = nil, false
		}
	}()
	return lexer.Tokenize(text), true
}

// parseTokens parses; what makes the parser, which is not ours, panic is a mistake in the text.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, fmt.Errorf("%v", r)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// explanations says for messages of the parser what would be right.
var explanations = []struct{ has, say string }{
	{"non-map value is specified", `want "key: value" here`},
	{"unexpected key name", `want "key: value" here`},
	{"mapping value is not allowed in this context", "a second \": \" in this value: is it indented too deep, or does a text need quotes?"},
	{"value is not allowed in this context", "this does not belong to anything before it; check the indentation and quotes"},
	{"sequence end token ']' not found", "this [ has no ]"},
	{"could not find flow mapping end token '}'", "this { has no }"},
	{"',' or ']' must be specified", "want , or ] before this"},
	{"',' or '}' must be specified", "want , or } before this"},
	{"could not find end character of", "this quote is never closed"},
	{"is a reserved character", "a value cannot begin with this character; put it in quotes"},
	{"could not find '[' character", "this ] has no ["},
	{"could not find '{' character", "this } has no {"},
	{"block sequence entries are not allowed", "a list item (- ) begins on a line of its own; or write the list as [a, b]"},
	{"unexpected scalar value type", "want a value here"},
}

func explain(message string) string {
	for _, e := range explanations {
		if strings.Contains(message, e.has) {
			return e.say
		}
	}
	return message
}

// guard refuses, before the recursive parser sees them, what scenarios have no use for and what would take it for ever: its
// depth grows with nesting and with the keys of a mapping, its time with the square of the keys and of the absent values.
func (s *source) guard(tokens token.Tokens) bool {
	if tk := tokens.InvalidToken(); tk != nil {
		s.syntax(tk, tk.Error)
		return false
	}
	var (
		blocks       blocks
		flow         []bracket
		absent       int
		begun, ended bool // there was content; there was a ...
	)
	for i, tk := range tokens {
		prev, next := at(tokens, i-1), at(tokens, i+1)
		switch tk.Type {
		case token.DocumentEndType:
			ended = true
			continue
		case token.DocumentHeaderType:
			if begun {
				s.badToken(tk, "a second document begins here; want one scenario in a file")
				return false
			}
		case token.SequenceStartType, token.MappingStartType:
			flow = append(flow, bracket{brace: tk.Type == token.MappingStartType})
		case token.CollectEntryType, token.SequenceEndType, token.MappingEndType:
			if len(flow) == 0 {
				break
			}
			top := &flow[len(flow)-1]
			if is(prev, token.MappingValueType) ||
				top.brace && !top.colon && !is(prev, token.MappingStartType) && !is(prev, token.CollectEntryType) {
				absent++
			}
			top.colon = false
			if tk.Type != token.CollectEntryType {
				flow = flow[:len(flow)-1]
			}
		case token.MappingValueType:
			keys := 0
			switch {
			case len(flow) > 0:
				keys = flow[len(flow)-1].key()
			case prev != nil:
				keys = blocks.key(prev.Position.Column)
				if next == nil || next.Position.Line > tk.Position.Line && next.Position.Column <= prev.Position.Column {
					absent++
				}
			}
			if keys > maxKeys {
				s.badToken(prev, "more than %d keys in one mapping", maxKeys)
				return false
			}
		case token.SequenceEntryType:
			if len(flow) == 0 {
				blocks.open(tk.Position.Column)
				if next == nil || next.Position.Column <= tk.Position.Column {
					absent++
				}
			}
		default:
			if msg := refused(tk, at(tokens, i+2)); msg != "" {
				s.badToken(tk, "%s", msg)
				return false
			}
		}
		begun = true
		switch {
		case ended:
			s.badToken(tk, "there is more after the end (...) of the document")
			return false
		case len(blocks)+len(flow) > maxDepth:
			s.badToken(tk, "more than %d levels within each other", maxDepth)
			return false
		case absent > maxAbsent:
			s.badToken(tk, "more than %d keys and items without a value", maxAbsent)
			return false
		}
	}
	return true
}

// refused returns why a token is not supported; after is the one after the next.
func refused(tk, after *token.Token) string {
	switch tk.Type {
	case token.DirectiveType:
		return "a % directive is not supported"
	case token.TagType:
		return fmt.Sprintf("tags such as %s are not supported", short(tk.Value))
	case token.MappingKeyType:
		return "a ? key is not supported; write key: value"
	case token.MergeKeyType:
		return "merge keys (<<) are not supported; repeat the keys, or use an alias for a whole value"
	case token.AnchorType:
		if is(after, token.AnchorType) || is(after, token.AliasType) {
			return "an anchor needs a value of its own"
		}
	}
	return ""
}

// bracket is an open { or [.
type bracket struct {
	brace bool
	colon bool // the present entry has one
	keys  int
}

// key counts a key and returns how many its mapping has.
func (b *bracket) key() int {
	b.colon = true
	if b.brace {
		b.keys++
	}
	return b.keys
}

// blocks are the open block mappings and lists, from the outermost.
type blocks []block

type block struct{ col, keys int }

// open goes to the block at a column, which is opened if need be, and leaves those within it.
func (b *blocks) open(col int) *block {
	for len(*b) > 0 && (*b)[len(*b)-1].col > col {
		*b = (*b)[:len(*b)-1]
	}
	if len(*b) == 0 || (*b)[len(*b)-1].col < col {
		*b = append(*b, block{col: col})
	}
	return &(*b)[len(*b)-1]
}

// key counts a key at a column and returns how many its mapping has.
func (b *blocks) key(col int) int {
	at := b.open(col)
	at.keys++
	return at.keys
}

func at(tokens token.Tokens, i int) *token.Token {
	if i < 0 || i >= len(tokens) {
		return nil
	}
	return tokens[i]
}

func is(tk *token.Token, t token.Type) bool { return tk != nil && tk.Type == t }

// node converts what the parser found.
func (s *source) node(n ast.Node) *node {
	switch n := n.(type) {
	case *ast.MappingNode:
		p := s.token(n.GetToken())
		if !n.IsFlowStyle && len(n.Values) > 0 { // the token is the first colon
			p = s.token(n.Values[0].Key.GetToken())
		}
		return s.mapping(p, n.Values)
	case *ast.MappingValueNode:
		return s.mapping(s.token(n.Key.GetToken()), []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		l := &node{place: s.token(n.GetToken()), kind: list}
		for i, v := range n.Values {
			l.items = append(l.items, s.value(v, s.token(n.Entries[i].GetToken())))
		}
		return l.measured()
	case *ast.AnchorNode:
		v := s.node(n.Value)
		s.anchors[n.Name.GetToken().Value] = v // known from here on: an alias cannot stand for what it is in
		return v
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if v := s.anchors[name]; v != nil {
			return v
		}
		s.badToken(n.GetToken(), "nothing before this is called &%s", short(name))
		return (&node{place: s.token(n.GetToken()), kind: broken}).measured()
	case *ast.NullNode:
		v := &node{place: s.token(n.GetToken()), kind: null}
		if tk := n.GetToken(); tk.Type != token.ImplicitNullType {
			v.text = tk.Value
		}
		return v.measured()
	case *ast.LiteralNode:
		return (&node{place: s.token(n.GetToken()), kind: scalar, text: n.Value.Value, quoted: true}).measured()
	case *ast.StringNode:
		tk := n.GetToken()
		quoted := tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
		return (&node{place: s.token(tk), kind: scalar, text: n.Value, quoted: quoted}).measured()
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return (&node{place: s.token(n.GetToken()), kind: scalar, text: n.GetToken().Value}).measured()
	}
	s.badToken(n.GetToken(), "a YAML %s is not supported here", n.Type())
	return (&node{place: s.token(n.GetToken()), kind: broken}).measured()
}

// value converts the value of a key or an item; if there is none, its place is that of the key or the dash.
func (s *source) value(n ast.Node, key place) *node {
	v := s.node(n)
	if null, ok := n.(*ast.NullNode); ok && null.GetToken().Type == token.ImplicitNullType {
		v.place = key
	}
	return v
}

func (s *source) mapping(p place, values []*ast.MappingValueNode) *node {
	m := &node{place: p, kind: mapping}
	first := map[string]place{}
	for _, v := range values {
		tk := v.Key.GetToken()
		switch v.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		default:
			s.badToken(tk, "want a plain key")
			continue
		}
		name, at := tk.Value, s.token(tk)
		if was, twice := first[name]; twice {
			msg := fmt.Sprintf("key %q stands here twice", short(name))
			if was.line > 0 {
				msg += fmt.Sprintf("; it is already on line %d", was.line)
			}
			s.badToken(tk, "%s", msg)
			continue
		}
		first[name] = at
		m.keys = append(m.keys, entry{at, name, s.value(v.Value, at)})
	}
	return m.measured()
}
