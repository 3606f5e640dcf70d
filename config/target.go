package config

import (
	"fmt"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// target checks the URL of a webhook.
func (c *checker) target(u *syntax.Text, keys ...string) {
	text := u.Value
	s := address.Scheme(text)
	switch {
	case text == "":
		c.wrong("the URL is empty; expected https://host/path", keys...)
		return
	case tags.Start(text) == 0: // it may render to anything
	case s != "http" && s != "https":
		c.wrong(fmt.Sprintf("%q does not begin with http:// or https://", wording.Clip(text)), keys...)
		return
	}
	c.url(u, keys...)
}

// url checks a URL that is requested for a webhook or an external body.
func (c *checker) url(u *syntax.Text, keys ...string) {
	at := func(offset int, what string, warning bool) {
		c.report(c.spot(u, offset), what, keys, warning)
	}
	if offset, what := address.TemplateFault(u.Value); what != "" {
		at(offset, what, false)
		return
	}
	for offset, literal := range address.Literals(u.Value) {
		if i := strings.IndexByte(literal, '#'); i >= 0 {
			at(offset+i, "what follows # is not sent: it is for browsers; %23 is a # that is sent", true)
			return
		}
	}
}
