package traffic

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// TokenLimits are the limits of a language model.
type TokenLimits struct {
	*buckets
	names    [][3]string // of the headers of each limit: limit, remaining and reset; nil for none
	duration bool        // a reset is a duration
}

// buckets are what all endpoints of a language model have in common.
type buckets struct {
	all   []bucket
	byKey bool
	key   limitKey // only its seeds
	began time.Time
}

// bucket is one of the limits.
type bucket struct {
	*quotas
	kind string
	cost func(t *TokenUse) int
	back bool // what an answer does not use is given back
}

// TokenUse is how many tokens a request takes.
type TokenUse struct {
	Prompt, Most, Answer int // of the prompt, of the longest answer that it allows, and of its answer

	limits *TokenLimits
	key    quotaKey
	now    time.Time
	states []verdict
}

func newTokenLimits(e *item.Endpoint, o Options) *TokenLimits {
	if e.LLM == nil || e.LLM.Limits == nil || !e.Response.HasStream() {
		return nil
	}
	declared := e.LLM.Limits
	l := &TokenLimits{duration: e.LLM.Duration}
	l.buckets = Shared(o.Carried, e, fmt.Sprint("limits ", *declared), func() *buckets {
		b := &buckets{byKey: declared.Key != "", key: newLimitKey("", nil, false), began: time.Now()}
		for _, one := range [...]struct {
			policy.Quota
			bucket
		}{
			{declared.Requests, bucket{kind: "requests", cost: func(*TokenUse) int { return 1 }}},
			{declared.Tokens, bucket{kind: "tokens", cost: func(u *TokenUse) int { return u.Prompt + u.Most }, back: true}},
			{declared.InputTokens, bucket{kind: "input-tokens", cost: func(u *TokenUse) int { return u.Prompt }}},
			{declared.OutputTokens, bucket{kind: "output-tokens", cost: func(u *TokenUse) int { return u.Most }, back: true}},
		} {
			if one.Most > 0 {
				one.quotas = newQuotas("token-bucket", uint32(one.Most), int64(one.Window))
				b.all = append(b.all, one.bucket)
			}
		}
		return b
	})
	for i := range l.all {
		var names [3]string
		for n, what := range [...]string{"limit", "remaining", "reset"} {
			names[n] = strings.NewReplacer("{what}", what, "{kind}", l.all[i].kind).Replace(e.LLM.Limit)
		}
		if e.LLM.Limit != "" {
			l.names = append(l.names, names)
		}
	}
	return l
}

// Take takes what a request uses, and reports whether it is to be served; otherwise it has been answered, and nothing is
// taken.
func (l *TokenLimits) Take(u *TokenUse, r *matcher.Request, p *reply.Reply) bool {
	u.limits, u.now, u.states = l, r.Now(), make([]verdict, len(l.all))
	if l.byKey {
		u.key = l.key.hash(r.Model.Value.Member("key").Raw)
	}
	refused := -1
	for i := range l.all {
		u.states[i] = l.all[i].take(u.key, int64(u.now.Sub(l.began)), l.all[i].cost(u))
		if !u.states[i].admitted && (refused < 0 || u.states[i].next > u.states[refused].next) {
			refused = i
		}
	}
	if refused < 0 {
		return true
	}
	for i := range l.all {
		if u.states[i].admitted {
			u.states[i] = l.all[i].take(u.key, int64(u.now.Sub(l.began)), -l.all[i].cost(u))
		}
	}
	b, wait := &l.all[refused], strconv.FormatInt(inSeconds(u.states[refused].next), 10)
	reply.RateLimited.Write(p, fmt.Sprintf("Rate limit reached for %s: limit %d in %v, remaining %d, requested %d. Please try again in %ss.",
		strings.ReplaceAll(b.kind, "-", " "), b.max, time.Duration(b.window), u.states[refused].remaining, b.cost(u), wait))
	p.Add(fasthttp.HeaderRetryAfter, wait)
	return false
}

// write adds the headers of the limits to a reply.
func (u *TokenUse) write(p *reply.Reply) {
	for i, names := range u.limits.names {
		state, reset := u.states[i], time.Duration(u.states[i].full)
		p.AddNumber(names[0], int64(u.limits.all[i].max))
		p.AddNumber(names[1], int64(state.remaining))
		if u.limits.duration {
			p.Add(names[2], (reset + time.Millisecond - 1).Truncate(time.Millisecond).String())
		} else {
			p.Add(names[2], u.now.Add(reset+time.Second-1).UTC().Format(time.RFC3339))
		}
	}
}

// giveBack gives back what the answer did not use.
func (u *TokenUse) giveBack() {
	for i := range u.limits.all {
		if b := &u.limits.all[i]; b.back && u.Most > u.Answer {
			b.take(u.key, int64(time.Since(u.limits.began)), u.Answer-u.Most)
		}
	}
}
