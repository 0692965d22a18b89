package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"sort"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// The size of a chart, in points: 900 x 600 pixels of 1/96 inch.
const (
	width  = 675
	height = 450
	margin = 14
)

func rgb(hex uint32) color.Color {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

var (
	black  = rgb(0x000000)
	grey   = rgb(0x5f6368)
	pale   = color.NRGBA{0, 0, 0, 28} // lines that are seen on tints as well
	orange = rgb(0xe69f00)
	sky    = rgb(0x56b4e9)
	green  = rgb(0x009e73)
	blue   = rgb(0x0072b2)
	red    = rgb(0xd55e00)
	purple = rgb(0xcc79a7)
	brown  = rgb(0x8c6d31)
	white  = rgb(0xffffff)
	veil   = color.NRGBA{255, 255, 255, 190}
)

// palette is for lines that are otherwise alike.
var palette = [mostLines]color.Color{blue, orange, green, purple, black, sky, red, brown}

var fonts = font.NewCache(liberation.Collection())

// ink is how a text is written.
type ink struct {
	color color.Color
	size  vg.Length
	bold  bool
}

func (k ink) face() font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if k.bold {
		f.Weight = xfont.WeightBold
	}
	return fonts.Lookup(f, k.size)
}

func (k ink) width(s string) vg.Length {
	f := k.face()
	return f.Width(s)
}

// fit shortens a text to a width.
func (k ink) fit(s string, width vg.Length) string {
	if k.width(s) <= width {
		return s
	}
	letters := []rune(s)
	n := sort.Search(len(letters), func(n int) bool { return k.width(string(letters[:n+1])+"…") > width })
	return string(letters[:n]) + "…"
}

// wrap breaks a text in two if it is wider than one row.
func (k ink) wrap(s string, width vg.Length) []string {
	if k.width(s) <= width {
		return []string{s}
	}
	at := 0
	for i, r := range s {
		if r == ' ' && k.width(s[:i]) <= width {
			at = i
		}
	}
	if at == 0 {
		return []string{s}
	}
	return []string{s[:at], s[at+1:]}
}

var (
	titleInk = ink{black, 13, true}
	aboutInk = ink{grey, 9.5, false}
	headInk  = ink{black, 9.5, true}
	labelInk = ink{grey, 9, false}
	noteInk  = ink{red, 9, false}
	useInk   = ink{green, 9.5, true}
)

// sheet is what a chart is drawn on; its origin is at the bottom left.
type sheet struct {
	draw.Canvas
	high  vg.Length
	taken []vg.Rectangle // places that the names of limits keep off
}

// The ends and the middle of a text, for its alignment.
const (
	start  = 0.0
	middle = 0.5
	end    = 1.0
)

// text writes s on the baseline y, with its start, middle or end at x.
func (s *sheet) text(x, y vg.Length, align float64, str string, k ink) {
	if str == "" {
		return
	}
	s.SetColor(k.color)
	s.FillString(k.face(), vg.Point{X: x - vg.Length(align)*k.width(str), Y: y}, str)
}

// line strokes a line; dashed if asked.
func (s *sheet) line(c color.Color, width vg.Length, dashed bool, points ...vg.Point) {
	style := draw.LineStyle{Color: c, Width: width}
	if dashed {
		style.Dashes = []vg.Length{3, 2.5}
	}
	s.StrokeLines(style, points)
}

// rectangle fills an area.
func (s *sheet) rectangle(c color.Color, x0, y0, x1, y1 vg.Length) {
	s.FillPolygon(c, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// dot marks a point: hollow if it must be read with care.
func (s *sheet) dot(c color.Color, radius vg.Length, hollow bool, p vg.Point) {
	s.DrawGlyphNoClip(draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}, p)
	if hollow {
		s.DrawGlyphNoClip(draw.GlyphStyle{Color: white, Radius: radius * 0.6, Shape: draw.CircleGlyph{}}, p)
	}
}

// shape is that of a mark that is no dot.
type shape uint8

const (
	tickShape  shape = 1 + iota // a short upright line
	crossShape                  // two lines across each other
)

// mark draws a mark.
func (s *sheet) mark(as shape, c color.Color, p vg.Point) {
	at := func(x, y vg.Length) vg.Point { return vg.Point{X: p.X + x, Y: p.Y + y} }
	if as == tickShape {
		s.line(c, 1.8, false, at(0, -4), at(0, 4))
		return
	}
	s.line(c, 1.4, false, at(-3, -3), at(3, 3))
	s.line(c, 1.4, false, at(-3, 3), at(3, -3))
}

// render draws a chart of the usual size in a format.
func render(format string, paint func(*sheet)) ([]byte, error) {
	return renderHigh(format, height, paint)
}

// renderHigh draws a chart that is so high.
func renderHigh(format string, high vg.Length, paint func(*sheet)) ([]byte, error) {
	var c interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		c = vgsvg.New(width, high)
	case "png":
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, high), vgimg.UseDPI(96))}
	default:
		return nil, fmt.Errorf("chart: want svg or png, have format %q", format)
	}
	s := &sheet{Canvas: draw.New(c), high: high}
	s.rectangle(white, 0, 0, width, high)
	paint(s)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// Fonts with the same widths, for readers who do not have the first.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

// title writes what the chart is about at the top, and returns the room below.
func (s *sheet) title(r *record.Result, what, remark string) vg.Length {
	y := s.high - margin - 10
	name := digest.Printable(r.Scenario.Name)
	if name != "" {
		name += ": "
	}
	s.text(margin, y, start, titleInk.fit(name+what, width-2*margin), titleInk)
	for _, line := range append([]string{digest.Printable(r.Scenario.About)}, aboutInk.wrap(remark, width-2*margin)...) {
		if line != "" {
			y -= 13
			s.text(margin, y, start, aboutInk.fit(line, width-2*margin), aboutInk)
		}
	}
	return y - 8
}

// entry is one line of a legend.
type entry struct {
	name   string
	color  color.Color
	dashed bool
	hollow bool      // a hollow mark instead of a line
	patch  bool      // an area instead of a line
	shape  shape     // a mark instead of a line
	width  vg.Length // of the line; 0 for the usual
}

const (
	sample = 16 // length of the piece of line in a legend
	space  = 4
)

func (e entry) room() vg.Length { return sample + space + labelInk.width(e.name) + 3*space }

// entry draws one entry of a legend from x on.
func (s *sheet) entry(x, y vg.Length, e entry) {
	switch {
	case e.hollow:
		s.dot(e.color, 3, true, vg.Point{X: x + sample - 4, Y: y + 3})
	case e.shape > 0:
		s.mark(e.shape, e.color, vg.Point{X: x + sample - 4, Y: y + 3})
	case e.patch:
		s.rectangle(e.color, x+sample-9, y-1, x+sample, y+8)
	default:
		s.line(e.color, cmp.Or(e.width, 1.8), e.dashed, vg.Point{X: x, Y: y + 3}, vg.Point{X: x + sample, Y: y + 3})
	}
	s.text(x+sample+space, y, start, e.name, labelInk)
}

// legend writes entries from left to right, in as many rows as it takes, and returns the room below.
func (s *sheet) legend(from, to, y vg.Length, entries []entry) vg.Length {
	x := from
	for _, e := range entries {
		if x > from && x+e.room() > to {
			x, y = from, y-12
		}
		s.entry(x, y, e)
		x += e.room()
	}
	return y
}
