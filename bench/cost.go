package bench

import (
	"fmt"
	"strings"

	"mockserver/config/item"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// Thresholds above which something in a declaration is called costly.
const (
	manyTags     = 10
	largeBody    = 16 << 10 // bytes of an answer
	largeRequest = 1 << 10  // bytes of a JSON body that a condition or template reads
	dear         = 1.25     // times the CPU time of the cheapest endpoint
)

// costs lists what is costly in an endpoint, judging by its declaration, the request and the response.
func costs(e *item.Endpoint, req *request, sample *reply, before int, flags []string) []string {
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	text := "" // the longest template of the answers
	for _, resp := range e.Answers() {
		if resp.External != nil {
			externalCost(resp.External, say)
		}
		if one := resp.Body.Value; !resp.Raw && len(one) > len(text) {
			text = one
		}
	}
	count, fakes, loops := tagsOf(text)
	for i := range e.Let {
		_, more, _ := tagsOf(e.Let[i].Value.Text.Value)
		fakes += more
	}
	if count >= manyTags {
		say("its body is a template of %d placeholders and blocks in %s", count, size(len(text)))
	}
	if fakes > 0 {
		say("%d × fake() for each request", fakes)
	}
	if loops > 0 {
		say("loops in its body (%d), whose cost depends on the length of their arrays", loops)
	}
	if n := len(sample.body); n >= largeBody {
		say("a body of %s", size(n))
	}
	if strings.Contains(e.If.Value, "json-params") && len(req.Body) >= largeRequest {
		say("a condition over a JSON body of %s", size(len(req.Body)))
	} else if strings.Contains(text, "json-params") && len(req.Body) >= largeRequest {
		say("placeholders that read a JSON body of %s", size(len(req.Body)))
	}
	if n := strings.Count(e.If.Value, " matches "); n > 0 {
		say("a condition with %s", wording.Count(n, "regular expression"))
	}
	if before > 0 {
		say("conditions of %s of the same path, declared before it, are evaluated first", wording.Count(before, "endpoint"))
	}
	for _, f := range flags {
		if f == "--access-log" || f == "-access-log" || strings.HasPrefix(f, "--access-log=t") {
			say("each request is logged (--access-log)")
		}
	}
	return why
}

// externalCost reports what makes an external body costly.
func externalCost(ext *item.ExternalBody, say func(string, ...any)) {
	path := ext.Path.Value
	remote := strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
	switch {
	case remote && ext.TTL == 0:
		say("its body is fetched from a URL for each request, and not kept (ttl: 0)")
	case remote:
		say("its body is fetched from a URL again each %s (ttl)", ext.TTL)
	case tags.In(path):
		say("the name of its file is rendered for each request, and looked up")
	case ext.Provider == "xlsx":
		say("a sheet of a workbook, converted when it changes")
	}
}

// tagsOf counts the tags in a template and, among them, the calls of fake() and the loops.
func tagsOf(text string) (count, fakes, loops int) {
	for {
		start, end := tags.Next(text)
		if start < 0 || end <= start {
			return count, fakes, loops
		}
		tag := text[start:end]
		count++
		fakes += strings.Count(tag, "fake(")
		if strings.HasPrefix(tags.Word(tag), "for ") {
			loops++
		}
		text = text[end:]
	}
}

// size formats a number of bytes for a message.
func size(n int) string {
	if n < 10_000 {
		return wording.Count(n, "byte")
	}
	return fmt.Sprintf("%.0f kB", float64(n)/1e3)
}
