package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/internal/harness/volume"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// An hour of a load test never takes more memory than the journal may use, even with large bodies,
// headers and targets, distinct paths that nothing matches, and errors.
func TestJournal_StaysWithinItsRoom(t *testing.T) {
	const room = 1 << 20
	j := newJournal(JournalOptions{Sample: 3, Bytes: room})
	rng := rand.New(rand.NewPCG(1, 1))
	largest := 0
	var in matcher.Input
	var response reply.Reply
	exchanges := 200_000
	if !volume.Full() {
		exchanges = 40_000
	}
	for i := range exchanges {
		if i%5000 == 0 { // making large requests takes the most time
			in = matcher.Input{
				Method: []byte("GET"), Target: []byte("/" + strings.Repeat("p", rng.IntN(20_000))),
				Header: headerOf("X-Long: " + strings.Repeat("h", rng.IntN(30_000))), Body: bytes.Repeat([]byte("b"), rng.IntN(100_000)),
			}
			response.Body = bytes.Repeat([]byte("r"), rng.IntN(100_000))
		}
		own := time.Duration(rng.IntN(1_000_000))
		if why, slow, ok := j.wants([]Kept{"", "", Failed, Unmatched}[rng.IntN(4)], uint64(i+1), own); ok {
			x := exchangeOf(&in, &response)
			x.Kept, x.Took = why, own
			x.Reason = strings.Repeat("m", rng.IntN(1000))
			if x.size() > largestExchange {
				t.Fatalf("an exchange takes %d bytes, more than %d", x.size(), largestExchange)
			}
			j.put(x, slow)
		}
		if i%100 == 0 {
			largest = max(largest, j.Stats().Bytes)
		}
	}
	if largest > room || largest < room/4 {
		t.Errorf("the journal takes %d bytes, want at most %d, and at least a quarter of that", largest, room)
	}
	stats := j.Stats()
	for _, why := range []Kept{Sampled, Failed, Unmatched, Slow} {
		if stats.Seen[why] == 0 || stats.Dropped[why] == 0 || stats.Dropped[why] >= stats.Seen[why] {
			t.Errorf("%s: %d seen, %d dropped", why, stats.Seen[why], stats.Dropped[why])
		}
	}
	if got := len(j.All()); uint64(got) != sum(stats.Seen)-sum(stats.Dropped) {
		t.Errorf("the journal has %d, with %v seen and %v dropped", got, stats.Seen, stats.Dropped)
	}
}

func sum(of map[Kept]uint64) (n uint64) {
	for _, m := range of {
		n += m
	}
	return n
}

func TestJournal_KeepsTheSlowest(t *testing.T) {
	j := newJournal(JournalOptions{})
	for i := range 10_000 {
		own := time.Duration(i*7919%10_000) * time.Microsecond
		if why, slow, ok := j.wants("", 1, own); ok {
			j.put(&Exchange{Kept: why, Took: own + time.Hour, Injected: time.Hour}, slow)
		}
	}
	list := j.All()
	if len(list) != defaultSlowest {
		t.Fatalf("%d are kept, want %d", len(list), defaultSlowest)
	}
	for _, x := range list {
		if x.own() < (10_000-defaultSlowest)*time.Microsecond {
			t.Errorf("%v is not one of the defaultSlowest", x.own())
		}
	}
	j.Reset()
	if left := j.All(); len(left) != 0 || j.Stats().Bytes != 0 {
		t.Errorf("after a reset the journal has %d", len(left))
	}
	if _, _, ok := j.wants("", 1, time.Microsecond); !ok {
		t.Error("after a reset a slow request is not kept")
	}
}

func TestJournal_SecretsAreNotShown(t *testing.T) {
	var response reply.Reply
	response.Add("Set-Cookie", "session=value-set")
	for name, secret := range map[string]bool{
		"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "X-Api-Key": true, "X-CSRF-Token": true,
		"Stripe-Signature": true, "X-Client-Secret": true, "X-Auth": true, "X-Auth-User": true, "Api_key": true, "X-Amz-Security-Token": true,
		"Ocp-Apim-Subscription-Key": true, "X-Functions-Key": true, "X-Jwt-Assertion": true, "X-Github-Otp": true, "X-Access_Key": true,
		"Accept": false, "X-Request-Id": false, "X-Author": false, "Idempotency-Key": false, "Sec-Websocket-Key": false, "Www-Authenticate": false,
	} {
		x := exchangeOf(&matcher.Input{Method: []byte("GET"), Target: []byte("/x"), Header: headerOf(name + ": value-" + name + ".")}, &response)
		all := fmt.Sprint(x.Request.Header)
		if strings.Contains(all, "value-"+name+".") == secret || !strings.Contains(strings.ToLower(all), strings.ToLower(name)) {
			t.Errorf("%s: %s", name, all)
		}
		if strings.Contains(fmt.Sprint(x.Response.Header), "value-set") {
			t.Error("a cookie in a response is shown")
		}
	}
}

// The journal reports at least as much memory as it takes, even where the heap rounds up.
func TestJournal_TakesNoMoreThanItSays(t *testing.T) {
	for name, shape := range map[string]matcher.Input{
		"headers of 17 letters":         {Header: manyHeaders(17)},
		"headers of 33 letters":         {Header: manyHeaders(33)},
		"a long secret":                 {Header: headerOf("Authorization: " + strings.Repeat("s", 4000))},
		"a body of a page and a letter": {Body: bytes.Repeat([]byte("b"), 4097)},
		"nothing":                       {Target: []byte("/")},
	} {
		t.Run(name, func(t *testing.T) {
			shape.Method = []byte("GET")
			// The heap belongs to the whole process: memory that an earlier test left may be freed
			// during this one.
			var took, says int64
			for range 5 {
				before := heap()
				j := newJournal(JournalOptions{Sample: 1})
				for range 1000 {
					x := exchangeOf(&shape, &reply.Reply{Status: 200})
					x.Kept = Sampled
					j.put(x, false)
				}
				took, says = heap()-before, int64(j.Stats().Bytes)
				runtime.KeepAlive(j)
				if says/3 <= took && took <= says {
					return
				}
			}
			t.Errorf("at most 1000 requests take %d bytes; the journal reports %d", took, says)
		})
	}
}

func manyHeaders(letters int) matcher.Header {
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("X-%0*d: %s", letters-2, i, strings.Repeat("v", letters)))
	}
	return headerOf(lines...)
}

func TestJournal_FromEverywhere(t *testing.T) {
	j := newJournal(JournalOptions{Bytes: 64 << 10})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2000 {
				j.put(&Exchange{Kept: []Kept{Failed, Slow, Sampled}[i%3], Took: time.Duration(g*i) * time.Microsecond}, i%3 == 1 || i%5 == 0)
				if i%500 == 0 {
					j.All()
				}
			}
		})
	}
	all.Wait()
	if stats := j.Stats(); sum(stats.Seen) != 16_000 || stats.Bytes > 64<<10 {
		t.Errorf("%+v", stats)
	}
}

// If every request is sampled, no request is lost because other requests are slower.
func TestJournal_SampledOnesAreNotLostToSlowerOnes(t *testing.T) {
	j := newJournal(JournalOptions{Sample: 1})
	for i := range 10 * defaultSlowest {
		kept, slow, _ := j.wants("", 1, time.Duration(i+1))
		j.put(&Exchange{Kept: kept, Took: time.Duration(i + 1)}, slow)
	}
	all := j.All()
	if len(all) != 10*defaultSlowest || j.missing() != "" {
		t.Fatalf("%d of %d are kept: %s", len(all), 10*defaultSlowest, j.missing())
	}
	for i, x := range all {
		if x.ID != uint64(10*defaultSlowest-i) || (x.Kept == Slow) != (i < defaultSlowest) {
			t.Fatalf("request %d from the end is %d, kept as %s", i, x.ID, x.Kept)
		}
	}
}

// heap returns how many bytes are reachable.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// headerOf returns a block of header lines.
func headerOf(lines ...string) matcher.Header {
	return matcher.Header(strings.Join(lines, "\r\n") + "\r\n\r\n")
}
