package data_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLists_AreThoseOfAModel compares lists of rows with many equal values, page by page, with a
// simple model: the rows that pass all filters, in the order of insertion, sorted by a stable sort.
// Filters that all rows pass change nothing.
func TestLists_AreThoseOfAModel(t *testing.T) {
	type row struct{ ID, N, M int }
	random := rand.New(rand.NewPCG(1, 2))
	var rows []row
	var declared []string
	for id := range 30 {
		rows = append(rows, row{id + 1, random.IntN(3), random.IntN(5)})
		declared = append(declared, fmt.Sprintf("{id: %d, n: %d, m: %d}", id+1, rows[id].N, rows[id].M))
	}
	var resources strings.Builder
	styles := []string{"link", "offset", "cursor", "after"}
	for _, style := range styles {
		fmt.Fprintf(&resources, "- resource: {path: /%s, data: d, filter: [n, m, id], sort: [n, m], page: {style: %[1]s}}\n", style)
	}
	c, _ := serve(t, "- data: {name: d, new-key: int, rows: ["+strings.Join(declared, ", ")+"]}\n"+resources.String())
	for id := 31; id <= 40; id++ { // rows that are not in the base, and values that differ from it
		rows = append(rows, row{id, id % 3, id % 5})
		changed := &rows[random.IntN(30)]
		changed.N, changed.M = random.IntN(3), random.IntN(5)
		for _, request := range []string{fmt.Sprintf(`POST /link {"n": %d, "m": %d}`, id%3, id%5), fmt.Sprintf(`PATCH /link/%d {"n": %d, "m": %d}`, changed.ID, changed.N, changed.M)} {
			if got := c.ask(request); got[0] != '2' {
				t.Fatalf("%s: %s", request, got)
			}
		}
	}
	c.ask("DELETE /link/7")
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.ID == 7 })

	// list returns the ids of a list, read in pages of the given size.
	list := func(style, query string, size int) (ids []int) {
		for at := 0; at <= len(rows); at += size {
			from := fmt.Sprint("&page=", at/size+1)
			switch {
			case style == "offset":
				from = fmt.Sprint("&offset=", at)
			case len(ids) == 0:
				from = ""
			case style == "after":
				from = fmt.Sprint("&starting_after=", ids[len(ids)-1])
			case style == "cursor":
				from = "&cursor=" + query[strings.LastIndexByte(query, '#')+1:]
			}
			plain, _, _ := strings.Cut(query, "#")
			_, body := c.exchange(fmt.Sprintf("GET /%s?limit=%d%s%s", style, size, plain, from))
			var page struct {
				Items, Data []row
				Next        *string
			}
			into := any(&page)
			if style == "link" {
				into = &page.Items
			}
			if err := json.Unmarshal([]byte(body), into); err != nil {
				t.Fatalf("%s: %v in %s", query, err, body)
			}
			for _, r := range append(page.Items, page.Data...) {
				ids = append(ids, r.ID)
			}
			if style == "cursor" && page.Next == nil {
				break
			}
			if page.Next != nil {
				query = plain + "#" + *page.Next
			}
		}
		return ids
	}
	all := func(row) bool { return true }
	for _, filter := range []struct {
		query string
		pass  func(row) bool
	}{
		{"", all}, {"&n[gte]=0", all}, {"&m[lte]=9", all}, {"&n[ne]=7", all}, {"&n=0&n=1&n=2", all}, {"&n[gte]=0&m[gte]=0&id[gt]=0", all},
		{"&n[in]=0&n[in]=2", func(r row) bool { return r.N != 1 }},
		{"&n[in]=0,9&n=1&n[eq]=2&n[in]=8", all},
		{"&n[]=0&n[]=2", func(r row) bool { return r.N != 1 }},
		{"&n[ne]=0&n[ne]=1", func(r row) bool { return r.N == 2 }},
		{"&m[gt]=0&m[gt]=2&m[lt]=9&m[lt]=4", func(r row) bool { return r.M == 3 }},
		{"&m[gte]=1&m[gte]=2&m[lte]=4&m[lte]=3", func(r row) bool { return r.M == 2 || r.M == 3 }},
		{"&m=1&n[lte]=1", func(r row) bool { return r.M == 1 && r.N <= 1 }},
	} {
		for _, sort := range []struct {
			query   string
			compare func(a, b row) int
		}{
			{"", func(row, row) int { return 0 }},
			{"&sort=n", func(a, b row) int { return a.N - b.N }},
			{"&sort=-n", func(a, b row) int { return b.N - a.N }},
			{"&sort=-m", func(a, b row) int { return b.M - a.M }},
			{"&sort=-n,m", func(a, b row) int { return (b.N-a.N)*10 + a.M - b.M }},
			{"&sort=n&sort=-m", func(a, b row) int { return (a.N-b.N)*10 + b.M - a.M }},
		} {
			var want []int
			model := slices.Clone(rows)
			slices.SortStableFunc(model, sort.compare)
			for _, r := range model {
				if filter.pass(r) {
					want = append(want, r.ID)
				}
			}
			for i, style := range styles {
				if got := list(style, filter.query+sort.query, 7+i); !slices.Equal(got, want) {
					t.Errorf("%s %s%s:\n\tgot  %v\n\twant %v", style, filter.query, sort.query, got, want)
				}
			}
			if n := len(want); n > 8 { // backwards
				got := ids(t, strings.TrimSuffix(strings.TrimPrefix(c.ask(fmt.Sprintf("GET /after?limit=5%s%s&ending_before=%d", filter.query, sort.query, want[n-2])), `200 {"data":`), `,"has_more":true}`))
				if expected := strings.Trim(fmt.Sprint(want[n-7:n-2]), "[]"); got != expected {
					t.Errorf("%s%s before %d: got %s, want %s", filter.query, sort.query, want[n-2], got, expected)
				}
			}
		}
	}
}
