package traffic

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/internal/wording"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Limiter counts the requests of each key against a rate limit.
type Limiter struct {
	endpoint string // name of the endpoint in logs
	limit    string // the value of X-RateLimit-Limit
	words    string // the limit in words
	key      limitKey
	quotas   *quotas
	began    time.Time // base of all times, by the monotonic clock

	log     *slog.Logger
	crowded atomic.Bool // that there are too many keys was logged
}

// NewLimiter compiles the rate limit of an endpoint; it returns nil if there is none. If the
// endpoint declared the same limit before a reload, counting continues. The parameters are those of
// the endpoint's path.
func NewLimiter(e *item.Endpoint, params []string, o Options) *Limiter {
	declared := e.RateLimit
	if declared == nil {
		return nil
	}
	algorithm := cmp.Or(declared.Algorithm, policy.LimitAlgorithms[0])
	window, most := cmp.Or(declared.Window, policy.DefaultWindow), cmp.Or(declared.Max, policy.DefaultMaxRequests)
	made := fmt.Sprint("rate-limit ", algorithm, " ", window, " ", most, " ", declared.By)
	return Shared(o.Carried, e, made, func() *Limiter {
		return &Limiter{
			endpoint: e.EffectiveMethod() + " " + e.Path.Value, limit: strconv.Itoa(most),
			words: fmt.Sprintf("%s in %v", wording.Count(most, "request"), window), key: newLimitKey(declared.By, params, o.TrustForwarded),
			quotas: newQuotas(algorithm, uint32(most), int64(window)), began: time.Now(), log: o.Log,
		}
	})
}

// LimitResult is the state of a request's key after the request was counted.
type LimitResult struct {
	limiter *Limiter // nil for an endpoint without a limit
	verdict
	now time.Time
	Use *TokenUse // nil for an endpoint without limits of tokens
}

// Admit counts a request, and reports whether it is to be served; a request over the limit has been
// answered. In either case, call Write on the result once the reply is complete.
func (l *Limiter) Admit(r *matcher.Request, p *reply.Reply) (LimitResult, bool) {
	if l == nil {
		return LimitResult{}, true
	}
	st := LimitResult{limiter: l, now: r.Now()}
	st.verdict = l.quotas.count(l.key.of(r), int64(st.now.Sub(l.began)))
	if st.evicted > 0 && !l.crowded.Swap(true) {
		l.log.Warn("a rate limit has more keys than it can keep: the oldest start again", "endpoint", l.endpoint)
	}
	if !st.admitted {
		wait := strconv.FormatInt(inSeconds(st.next), 10)
		reply.RateLimited.Write(p, "this endpoint answers "+l.words+" from one client; the next is answered in "+wait+" s")
		p.Add(fasthttp.HeaderRetryAfter, wait)
	}
	return st, st.admitted
}

// inSeconds rounds a time up to whole seconds, and to at least one, so that a client can rely on
// it.
func inSeconds(nanoseconds int64) int64 {
	return max((nanoseconds+int64(time.Second)-1)/int64(time.Second), 1)
}

// The headers of a limit, in the spelling in which they are sent.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
)

// Write adds the headers of the limit to a reply that is otherwise complete. Headers that the reply
// already has are kept.
func (st *LimitResult) Write(p *reply.Reply) {
	if st.Use != nil {
		st.Use.write(p)
	}
	if st.limiter == nil {
		return
	}
	if !p.Has(headerLimit) {
		p.Add(headerLimit, st.limiter.limit)
	}
	if !p.Has(headerRemaining) {
		p.AddNumber(headerRemaining, int64(st.remaining))
	}
	if !p.Has(headerReset) {
		at := st.now.Add(time.Duration(st.full) + time.Second - 1) // rounded up
		p.AddNumber(headerReset, at.Unix())
	}
}
