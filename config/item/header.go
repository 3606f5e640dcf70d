package item

import (
	"fmt"
	"mime"
	"net/textproto"
	"slices"
	"strings"
	"unicode/utf8"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// Header is one header line of an answer. A header that is repeated consists of several Headers.
type Header struct {
	Name  string      // as the user wrote it
	Value syntax.Text `key:""`
}

// Regular expressions of the schema, in the syntax that ECMAScript and RE2 have in common. Each
// matches everything that the rules of this file accept, and little else.
const (
	tokenPattern = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	// headerPattern excludes control characters except the tab.
	headerPattern = `^[^\x00-\x08\x0A-\x1F\x7F]*$`
)

// The rows of the names and values of headers.
var (
	headerName  = &table.Row{Kinds: table.Texts, Pattern: tokenPattern}
	headerValue = &table.Row{Kinds: table.Scalars | table.Lists, Pattern: headerPattern, Item: &table.Row{Kinds: table.Scalars, Pattern: headerPattern}}
)

// canonicalNames replaces header names that are keywords of EDN with their canonical names, in the
// nodes themselves, so that the positions of these names can be found by the names that are served:
// :content-type is Content-Type. A name that becomes equal to another header is an error.
func canonicalNames(d *table.Decoder, v table.Value) {
	if !slices.ContainsFunc(v.Entries, func(e syntax.Entry) bool { return e.Key.Keyword }) {
		return
	}
	written := make(map[string]string, len(v.Entries))
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		if e.Key.Keyword {
			e.Key.Text.Value = textproto.CanonicalMIMEHeaderKey(name)
		}
		if first, ok := written[e.Key.Text.Value]; ok {
			d.Wrong(e.Key.Pos(), table.Under(v.Key, e.Key.Text.Value),
				"is the same header as %q; write several values as a list", wording.Clip(first))
			continue
		}
		written[e.Key.Text.Value] = name
	}
}

func decodeHeaders(d *table.Decoder, v table.Value) []Header {
	canonicalNames(d, v)
	var headers []Header
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		all := []table.Value{v.Part(e.Value, "."+wording.Label(name), v.Row.Value)}
		if e.Key.Faulty {
			d.Known(all[0].Key)
		}
		if all[0].Kind == syntax.ListNode {
			if list := all[0]; len(list.Items) == 0 && !list.Faulty {
				d.Add(syntax.Problem{Pos: list.Pos(), Key: list.Key, What: "is left out: the list is empty", Warning: true})
			}
			all = all[0].Parts()
		}
		for _, one := range all {
			if d.Take(one) {
				headers = append(headers, Header{Name: name, Value: one.AsText()})
			}
		}
	}
	return headers
}

// checkHeaders checks names and values, and finds names that differ only in case. It warns that
// headers for which serverSets is true are left out.
func checkHeaders(c *table.Checker, headers []Header, serverSets func(name string) bool, path ...string) {
	spelt, times := map[string]string{}, map[string]int{}
	for _, h := range headers {
		lower := strings.ToLower(h.Name)
		times[lower]++
		first, seen := spelt[lower]
		keys := append(slices.Clone(path), h.Name)
		report := func(what string, warning bool) {
			if !c.Full() { // finding a position takes a search
				c.Report(c.Place(true, keys), what, keys, warning)
			}
		}
		switch {
		case seen && first != h.Name:
			report(fmt.Sprintf("is the same header as %q; write several values as a list", wording.Clip(first)), false)
		case times[lower] == 2 && semantics.StandsOnce(h.Name):
			c.Wrong("has several values; expected one, because a message may contain this header only once", keys...)
		case !semantics.IsToken(h.Name):
			report(fmt.Sprintf("%q is not a header name; expected letters, digits and !#$%%&'*+-.^_`|~", wording.Clip(h.Name)), false)
		case !seen && serverSets(h.Name):
			report("is left out: the server writes this header itself", true)
		}
		spelt[lower] = h.Name
		if i := strings.IndexFunc(h.Value.Value, semantics.ForbiddenInValue); i >= 0 {
			pos := c.Spot(&h.Value, i)
			what := fmt.Sprintf("the control character %q is not allowed in a header", h.Value.Value[i])
			if h.Value.Value[i] == '\n' {
				what += HintsOf(pos.File).Line
			}
			c.Report(pos, what, keys, false)
		}
	}
}

// contentType returns the declared Content-Type as written, and whether there is one.
func contentType(headers []Header) (string, bool) {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			return h.Value.Value, true
		}
	}
	return "", false
}

// checkCharset warns about a Content-Type with another charset than that of the body, UTF-8, unless
// the body has the same bytes in both.
func checkCharset(c *table.Checker, headers []Header, body string, raw bool, path ...string) {
	i := slices.IndexFunc(headers, func(h Header) bool { return strings.EqualFold(h.Name, "Content-Type") })
	if i < 0 || body == "" {
		return
	}
	declared := headers[i].Value.Value
	_, params, err := mime.ParseMediaType(declared)
	charset := strings.ToLower(params["charset"])
	ascii := (raw || !tags.In(body)) && strings.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	switch {
	case err != nil || charset == "" || charset == "utf-8" || charset == "utf8" || !raw && tags.In(declared):
	case ascii && !strings.HasPrefix(charset, "utf-16") && !strings.HasPrefix(charset, "utf-32"):
	default:
		c.Warn(fmt.Sprintf("the charset is %q, but the body is sent in UTF-8; expected charset=utf-8", wording.Clip(charset)), table.Below(path, headers[i].Name)...)
	}
}
