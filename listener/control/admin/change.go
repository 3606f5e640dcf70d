package admin

import (
	"errors"

	"mockserver/config"
	"mockserver/listener/control/fleet"
)

// change calls Server.Alter and remembers the new specification.
func (a *Admin) change(change func(served *config.Spec) (*config.Spec, error)) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	before := a.given.Load()
	var spec *config.Spec
	err := a.server.Control().Alter(func(served *config.Spec) (_ *config.Spec, err error) {
		spec, err = change(served)
		return spec, err
	})
	if err != nil {
		a.given.Store(before)
		return err
	}
	a.brought.Store(spec)
	return nil
}

// errOvertaken is the error for a change to all replicas that came too late.
var errOvertaken = errors.New("another change of all replicas came first; check what they serve and try again")

// take starts serving a specification from a request or from another replica. A Number above 0
// marks a change to all replicas; take returns errOvertaken if the last such change does not have a
// lower number.
func (a *Admin) take(c fleet.Change, spec *config.Spec) error {
	return a.change(func(*config.Spec) (*config.Spec, error) {
		if c.Number > 0 {
			if last := a.given.Load(); last != nil && last.Number >= c.Number {
				return nil, errOvertaken
			}
			a.given.Store(&given{c, spec}) // the change counts only while spec is served; change takes it back after an error
		}
		return spec, nil
	})
}

// given is a specification that was given to all replicas.
type given struct {
	fleet.Change
	spec *config.Spec
}
