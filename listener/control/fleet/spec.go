package fleet

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
)

// Change is a specification that was sent to all replicas.
type Change struct {
	Number uint64 // each change has a higher number than the one before
	Media  string // media type of the text
	Text   []byte
}

// ChangeHeader is the header with the number of a change that one replica sends to another.
const ChangeHeader = "Mockserver-Change"

// Outcome is the result of a change on one replica.
type Outcome struct {
	Address string `json:"address" doc:"address of the replica"`
	Applied bool   `json:"applied" doc:"whether it serves the change"`
	Why     string `json:"why,omitempty" doc:"why it does not serve the change"`
}

// Replaced is the result of a change on all replicas.
type Replaced struct {
	Change   uint64    `json:"change" doc:"number of the change; 0 if none was made"`
	Agreed   bool      `json:"agreed" doc:"whether all replicas serve the change"`
	Replicas []Outcome `json:"replicas" doc:"the result on each replica"`
}

// Replace makes all replicas serve another specification. The specification is applied only after
// every replica has checked it and found no error. refused is the first answer that reports an
// error; nil if there is none.
func (f *Fleet) Replace(ctx context.Context, media string, text []byte) (done Replaced, refused *Reply) {
	state := f.Look(ctx)
	done.Replicas = []Outcome{}
	number := uint64(1)
	for _, m := range state.Replicas {
		number = max(number, m.LastChange+1)
		if m.Silent != "" {
			done.Replicas = append(done.Replicas, Outcome{Address: m.Address, Why: "it does not answer: " + m.Silent})
		}
	}
	if len(state.Replicas) == 0 || len(done.Replicas) > 0 {
		return done, nil
	}
	check := f.Ask(ctx, state.Addresses(), Question{Method: http.MethodPut, Path: "/__admin/spec?check=true", Media: media, Body: text, Within: thoroughly})
	for i := range check {
		if err := check[i].Err; err != nil {
			if refused == nil && check[i].Status != 0 {
				refused = &check[i]
			}
			done.Replicas = append(done.Replicas, Outcome{Address: check[i].Address, Why: err.Error()})
		}
	}
	if len(done.Replicas) > 0 {
		return done, refused
	}
	done.Change, done.Agreed = number, true
	path := "/__admin/spec?change=" + strconv.FormatUint(number, 10)
	for _, r := range f.Ask(ctx, state.Addresses(), Question{Method: http.MethodPut, Path: path, Media: media, Body: text, Within: thoroughly}) {
		one := Outcome{Address: r.Address, Applied: r.Err == nil}
		if r.Err != nil {
			done.Agreed, one.Why = false, r.Err.Error()
		}
		done.Replicas = append(done.Replicas, one)
	}
	return done, nil
}

// Newest returns the newest change that is in force on another replica, if its number is above the
// given one, otherwise nil.
func (f *Fleet) Newest(ctx context.Context, above uint64) (*Change, error) {
	state := f.Look(ctx)
	var from *Member
	for i := range state.Replicas {
		if m := &state.Replicas[i]; m.InForce && !m.Self && m.LastChange > above && (from == nil || m.LastChange > from.LastChange) {
			from = m
		}
	}
	if from == nil {
		return nil, nil
	}
	r := f.client.ask(ctx, from.Address, Question{Method: http.MethodGet, Path: "/__admin/fleet/spec", Within: thoroughly})
	if r.Err != nil {
		return nil, fmt.Errorf("ask %s for the configuration: %w", from.Address, r.Err)
	}
	number, err := strconv.ParseUint(r.Header.Get(ChangeHeader), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("ask %s for the configuration: its answer has no number", from.Address)
	}
	return &Change{Number: number, Media: r.Header.Get("Content-Type"), Text: r.Body}, nil
}
