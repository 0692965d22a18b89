package record

// Budget is how the connections that the server allows divide among services, by the scenario alone, beside what the run used.
type Budget struct {
	Limit    int         `json:"limit"`    // connection_limit of the server
	Reserved int         `json:"reserved"` // superuser_reserved and reserved
	Demand   int         `json:"demand"`   // of all services at their peak
	Left     int         `json:"left"`     // limit - reserved - demand; below 0 the server is overbooked
	Rows     []BudgetRow `json:"services"`
}

// BudgetRow is the part of a service, or of a pooler.
type BudgetRow struct {
	Service     string `json:"service"`
	Instances   int    `json:"instances"`    // at the end of the scenario's timetable, when a release is over
	Peak        int    `json:"peak"`         // most of them at once, old and new together
	PerInstance int    `json:"per_instance"` // most connections of one
	Demand      int    `json:"demand"`       // peak x per_instance
	// Available is what the server has for the service when all others are at their peak. Safe is what one instance may have of
	// it at the peak, and WithoutPeak what it would have if the peak were forgotten, which at the peak needs NeedsAtPeak.
	Available   int `json:"available"`
	Safe        int `json:"safe"`
	WithoutPeak int `json:"without_peak"`
	NeedsAtPeak int `json:"needs_at_peak"`

	Used Float `json:"used"` // in the run: most connections at once, those being opened included
}
