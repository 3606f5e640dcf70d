package renderer

import "strings"

// block parses the if or for block that t opens, up to its end.
func (p *parser) block(nodes []node, t tag, depth int) []node {
	if depth >= maxDepth {
		p.fail(t.offset, "blocks are nested more than %d deep", maxDepth)
		p.pos, p.cut = len(p.text.Value), true
		return nodes
	}
	if t.word == "for" {
		return p.forBlock(nodes, t, depth)
	}
	return p.ifBlock(nodes, t, depth)
}

// ifBlock parses the arms of a conditional. Each arm starts in the same place as the block, and all
// must end in the same place: a quote opened in only one arm would leave the rest neither inside
// nor outside a JSON string (see settle).
func (p *parser) ifBlock(nodes []node, t tag, depth int) []node {
	n := node{kind: branchNode}
	before := p.place
	var ends []place
	open := t
	for {
		a := arm{}
		if open.word != "else" {
			a.cond = p.condition(open)
		}
		p.place = before
		var closing tag
		a.body, closing = p.nodes(depth + 1)
		a.body = joined(a.body)
		n.arms = append(n.arms, a)
		ends = append(ends, p.place)
		switch {
		case closing.word == "endif":
			if open.word != "else" {
				ends = append(ends, before)
			}
			p.settle(t, ends)
			return append(nodes, n)
		case closing.word == "":
			p.unclosed(t, closingSpelling(p.spelling(t)))
			return nodes
		case open.word == "else" || closing.word == "endfor" || closing.word == "endraw":
			p.misplaced(closing, open, closingSpelling(p.spelling(t)))
			return nodes
		}
		open = closing
	}
}

// closingSpelling returns the end tag of a conditional in the spelling of its opening tag.
func closingSpelling(opening string) string {
	if strings.HasPrefix(opening, "{{") {
		return "{{/if}}"
	}
	return "{% endif %}"
}

// settle continues where the arms end: in a JSON text, in the place that they have in common; in a
// URL, in any of the parts in which an arm ends. If the arms have different forms, the rest has the
// stricter one.
func (p *parser) settle(t tag, ends []place) {
	p.place = ends[0]
	for _, end := range ends[1:] {
		p.place.url |= end.url
		p.mayBe(end.form)
		if end.json != ends[0].json {
			p.fail(t.offset, "%s: one branch ends inside a JSON string and another outside; a quote is opened or closed in one of them only", p.spelling(t))
			return
		}
	}
}

// mayBe takes into account that a block may also end in another form.
func (p *parser) mayBe(form Form) {
	if form == p.place.form {
		return
	}
	known := form != Inferred && p.place.form != Inferred
	p.place.form = stricter(p.place.form, form)
	p.mixed = p.mixed || known || p.place.form == Inferred
}

// stricter returns the stricter of two different inferred forms. If one is plain and the other
// still unknown, the rest of the text decides.
func stricter(a, b Form) Form {
	for _, form := range []Form{JSON, XML} {
		if a == form || b == form {
			return form
		}
	}
	return Inferred
}

// condition parses the condition of an if or elif tag; it returns nil after an error.
func (p *parser) condition(t tag) *cond {
	sc := newScanner(&p.source, t.args, t.end)
	if sc.tok.kind == endToken {
		p.fail(t.offset, "%s has no condition", p.spelling(t))
		return nil
	}
	return sc.condition()
}

// forBlock parses {% for x in array %} … {% endfor %}.
func (p *parser) forBlock(nodes []node, t tag, depth int) []node {
	sc := newScanner(&p.source, t.args, t.end)
	variable := sc.tok
	sc.next()
	keyword := sc.tok
	sc.next()
	n := node{kind: loopNode, loop: len(p.loops)}
	ok := false
	switch {
	case variable.kind != wordToken || !keyword.word("in"):
		p.fail(t.offset, "%s: expected {%% for NAME in ARRAY %%}", p.spelling(t))
	case p.checkLoopName(variable):
		var array expr
		array, ok = sc.expression()
		n.expr = &array
		if ok && sc.tok.kind != endToken {
			p.fail(sc.tok.offset, "unexpected %s after the array", sc.tok.describe())
		}
	}
	p.place.url = p.place.url.InLoop()
	before := p.place
	p.loops = append(p.loops, variable.text)
	p.deepest = max(p.deepest, len(p.loops))
	body, closing := p.nodes(depth + 1)
	p.loops = p.loops[:len(p.loops)-1]
	n.body = joined(body)
	switch {
	case closing.word == "":
		p.unclosed(t, "{% endfor %}")
	case closing.word != "endfor":
		p.misplaced(closing, t, "{% endfor %}")
	case p.place.json != before.json:
		p.fail(t.offset, "%s: an iteration of the loop ends inside a JSON string that it opened, or outside of one that it closed", p.spelling(t))
	}
	p.mayBe(before.form)
	p.place.url |= before.url // the URL stays in that part if the loop has no iterations
	return append(nodes, n)
}

// checkLoopName reports whether a word may name the element of a loop, and adds an error if it may not.
func (s *source) checkLoopName(t token) bool {
	ok := t.text != "loop" && !strings.ContainsAny(t.text, ".[") && !s.isVariable(t.text)
	if !ok {
		s.fail(t.offset, "%q cannot name the element of a loop: it is already a variable", t.text)
	}
	return ok
}

// unclosed reports a block without an end, unless the text was not read to its end.
func (p *parser) unclosed(t tag, missing string) {
	if !p.cut {
		p.fail(t.offset, "%s is not closed: %s is missing", p.spelling(t), missing)
	}
}

// misplaced reports a tag that closes a block other than the current one, and goes back to the tag,
// so that an outer block may use it.
func (p *parser) misplaced(closing, open tag, missing string) {
	p.fail(closing.offset, "%s inside %s; %s is missing before it", p.spelling(closing), p.spelling(open), missing)
	p.pos = closing.offset
}
