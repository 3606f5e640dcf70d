package fleet

// Options contains the options of a fleet.
type Options struct {
	Members string // as in ParseMembers
	Expect  int    // the expected number of replicas; 0 for any
	Token   string // the token of the admin addresses; "" for none
	TLS     bool   // the admin addresses use TLS
	CA      string // a file with the CAs of their certificates; "" for those in CAs
	CAs     []byte // those CAs, in PEM; nil for the CAs of the system
	// Found is set for a list of addresses that may be incomplete: the replicas are those known to
	// the first address that answers.
	Found bool
}
