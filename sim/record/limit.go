package record

// Limit returns what the figure is held against, in its unit; not known is that of a check against a baseline.
func (e Expr) Limit() (limit float64, known bool) { return e.limit, !e.against }
