package traffic

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// Finish makes endpoints from all exchanges. It fails if the sources contain none, if there are too
// many endpoints, or if a temporary file fails.
func (c *Collector) Finish() error {
	if len(c.records) == 0 && len(c.sources) > 0 && len(c.draft.Items) == 0 {
		return fmt.Errorf("there is no exchange in %s", strings.Join(c.sources, " and "))
	}
	for why, n := range c.skipped {
		if n > shownSkips {
			c.draft.Lost(syntax.Pos{File: c.sources[len(c.sources)-1]}, wording.Count(n-shownSkips, "further exchange"), "%s", why)
		}
	}
	slices.SortStableFunc(c.records, func(a, b record) int { return cmp.Compare(a.at, b.at) })
	groups := c.groups()
	if len(groups) > draft.MaxItems {
		return fmt.Errorf("there are %d endpoints; expected at most %d: say with --path which segments are parameters", len(groups), draft.MaxItems)
	}
	for _, g := range groups {
		g.make()
		if c.store.err != nil {
			return fmt.Errorf("temporary file: %w", c.store.err)
		}
	}
	c.stateful(groups)
	if c.few > 0 {
		c.draft.Warn(syntax.Pos{File: c.sources[0]}, "latencies", "%d latencies have fewer than %d samples, so their p99 is unreliable", c.few, knownBelow)
	}
	return nil
}

// groups groups the exchanges by method, host and path. It returns the groups in the order of host,
// path and method.
func (c *Collector) groups() []*group {
	patterns := c.patternsOf()
	hosts := map[string]bool{}
	byName := map[string]*group{}
	var all []*group
	for i := range c.records {
		r := &c.records[i]
		host, _, _ := strings.Cut(c.words.texts[r.place], "\x00")
		p := patterns[r.place]
		method := semantics.Methods[r.method]
		id := method + " " + host + " " + p.text
		g := byName[id]
		if g == nil {
			g = &group{Collector: c, method: method, host: host, pattern: p, name: method + " " + p.text}
			byName[id] = g
			all = append(all, g)
			hosts[host] = true
		}
		g.records = append(g.records, r)
	}
	slices.SortStableFunc(all, func(a, b *group) int {
		return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.pattern.text, b.pattern.text), strings.Compare(a.method, b.method))
	})
	if len(hosts) > 1 {
		c.draft.Title = append(c.draft.Title, "There were several hosts: the Host header of a request says which it is for.",
			"Remove host: where it does not matter.")
	}
	for _, g := range all {
		if len(hosts) == 1 || address.NameFault(g.host) != "" {
			g.host = ""
		}
		g.slug = c.slug(g.name)
	}
	return all
}

// patternsOf returns the pattern of each place, which is a host and a path.
func (c *Collector) patternsOf() map[uint32]*pattern {
	patterns := map[uint32]*pattern{}
	places, paths := map[string][]uint32{}, map[string][]string{} // by host
	for i := range c.records {
		place := c.records[i].place
		if patterns[place] != nil {
			continue
		}
		host, path, _ := strings.Cut(c.words.texts[place], "\x00")
		if k := slices.IndexFunc(c.patterns, func(p pattern) bool { return p.matches(path) }); k >= 0 {
			patterns[place] = &c.patterns[k]
			continue
		}
		patterns[place] = &pattern{}
		places[host], paths[host] = append(places[host], place), append(paths[host], path)
	}
	for host, list := range places {
		for i, p := range infer(paths[host]) {
			*patterns[list[i]] = p
		}
	}
	return patterns
}

// slug returns a name for files and sets that no other group has.
func (c *Collector) slug(name string) string {
	const longest = 60
	name, _, _ = strings.Cut(strings.ReplaceAll(name, "|int", ""), "?")
	name = strings.TrimLeft(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
	return language.Unique(strings.Trim(name[:min(len(name), longest)], "-"), c.names)
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)
