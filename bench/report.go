package bench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// report prints what was measured, writes the files, and returns the final error of the run.
func (r *run) report(err error) error {
	var b strings.Builder
	if len(r.results) > 0 {
		r.heading(&b)
	}
	switch {
	case len(r.results) == 0:
	case r.opts.Rate.given():
		b.WriteString(openTable(r.results))
	default:
		b.WriteString(r.closedTable())
	}
	r.remarks(&b)
	if len(r.results) > 0 && err != nil {
		b.WriteString("\nThis is incomplete: the run ended early.\n")
	}
	if _, failed := fmt.Fprint(r.out, b.String()); failed != nil {
		err = errors.Join(err, failed)
	}
	if len(r.results) > 0 {
		err = errors.Join(err, r.file(err == nil))
	}
	for _, res := range r.results {
		if res.Void != "" {
			err = errors.Join(err, fmt.Errorf("%s has no result: %s", res.Name, res.Void))
		}
	}
	return err
}

// heading writes the machine and the settings of the measurement.
func (r *run) heading(b *strings.Builder) {
	m := &r.machine
	fmt.Fprintf(b, "%s/%s, %s, %s; %s; mockserver %s, %s, fasthttp %s\n", m.OS, m.Arch, cmp.Or(m.CPU, "CPU unknown"), wording.Count(m.CPUs, "CPU"), r.placed.Why, m.Mockserver, m.Go, m.Fasthttp)
	who, how := "the server alone, then together with the bare handler", "closed loop: each connection sends its next request when the last was answered"
	switch {
	case r.opts.Rate.given():
		who, how = "baseline and server in turn", "open loop at a constant rate; latency from when a request was due"
	case len(r.opts.Rivals) > 0:
		who += " and the rivals"
	}
	fmt.Fprintf(b, "%s of %s a side, %s, %s each; %s\n\n",
		wording.Count(r.opts.Rounds, "round"), r.opts.Duration.Round(time.Millisecond), who, wording.Count(r.opts.Connections, "connection"), how)
}

// file writes the requested file, so that a reader sees either all of it or its previous content.
func (r *run) file(complete bool) error {
	if r.opts.JSON == "" {
		return nil
	}
	text, err := json.MarshalIndent(r.document(complete), "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(r.opts.JSON, false, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
