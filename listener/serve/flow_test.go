package serve

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/listener/compile"
	"mockserver/listener/protocol/wire"
)

// opened returns the flow of a request, which has a declared response.
func opened(t *testing.T, s *testServer, path string) *flow {
	t.Helper()
	var x wire.Exchange
	x.Request.SetRequestURI(path)
	c := receive(&x)
	if s.serve(c); c.flow == nil {
		t.Fatalf("the reply is %d %s", c.Reply.Status, c.Reply.Body)
	}
	return c.flow
}

// sends returns what a flow sends, each with its time in milliseconds since begun, if the n-th call comes so much late.
// It ends the flow, which would otherwise slow down the streams that share its rate.
func sends(f *flow, begun time.Time, late ...time.Duration) string {
	var all []string
	for i := 0; ; i++ {
		wait := time.Until(f.until)
		if i < len(late) {
			wait += late[i]
		}
		<-time.After(wait) // of the bubble
		headed := f.headed
		b, ended := f.step(nil, true)
		if len(b) == 0 && !ended && f.headed == headed {
			continue
		}
		text := strings.ReplaceAll(strings.ReplaceAll(string(b), "data: ", ""), "\n", "")
		if all = append(all, fmt.Sprintf("%v %s", time.Since(begun).Milliseconds(), text)); ended {
			end := f.sent.End
			f.finish(false)
			return strings.Join(all, ", ") + " " + end
		}
	}
}

// Items are due on a grid, which nothing that comes late moves.
func TestFlow_Times(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, compile.Options{})
		for name, c := range map[string]struct {
			response string
			late     []time.Duration
			want     string
		}{
			"at once":                     {"{stream: [{times: 3, data: a}]}", nil, "0 aaa complete"},
			"nothing":                     {"{stream: [{times: 0, data: a}]}", nil, "0  complete"},
			"gaps":                        {"{stream: [{times: 3, data: a}], pace: {gap: 10ms}}", nil, "0 a, 10 a, 20 a complete"},
			"late":                        {"{stream: [{times: 5, data: '{{loop.index}}'}], pace: {gap: 10ms}}", []time.Duration{3e6, 25e6}, "3 1, 35 234, 40 5 complete"},
			"first":                       {"{stream: [{times: 2, data: a}], pace: {first: 50ms, gap: 10ms}}", []time.Duration{4e6}, "54 a, 60 a complete"},
			"head":                        {"{stream: [{times: 2, data: a}], pace: {first: 50ms, gap: 10ms, head: at-once}}", nil, "0 , 50 a, 60 a complete"},
			"after":                       {"{stream: [{data: a}, {data: b, after: 7ms}, {data: c}], pace: {gap: 10ms}}", nil, "0 a, 7 b, 17 c complete"},
			"with previous":               {"{stream: [{data: a}, {data: b}, {data: c, with: previous}, {data: d}], pace: {gap: 10ms}}", nil, "0 a, 10 bc, 20 d complete"},
			"with next":                   {"{stream: [{data: a}, {data: b, with: next}, {data: c}, {data: d}], pace: {gap: 10ms}}", nil, "0 a, 10 bc, 20 d complete"},
			"heartbeat":                   {"{stream: [{data: a}, {data: b, after: 25ms}], heartbeat: 10ms}", nil, "0 a, 10 : heartbeat, 20 : heartbeat, 25 b complete"},
			"heartbeat before first":      {"{stream: [{data: a}], heartbeat: 10ms, pace: {first: 15ms, head: at-once}}", nil, "0 , 10 : heartbeat, 15 a complete"},
			"no heartbeat":                {"{stream: [{data: a}], heartbeat: 10ms, pace: {first: 15ms}}", nil, "15 a complete"},
			"max-duration":                {"{stream: [{times: 9, data: a}], pace: {gap: 10ms}, max-duration: 25ms}", nil, "0 a, 10 a, 20 a, 25  max-duration"},
			"forever":                     {"{stream: [{times: forever, data: a}], pace: {gap: 30m}}", nil, "0 a, 1800000 a, 3600000  max-duration"},
			"slow body":                   {"{stream: [{times: 3, data: a}]}, fault: {type: slow-body, bytes-per-second: 900}", nil, "0 a, 10 a, 20 a complete"},
			"slow body, slower pace":      {"{stream: [{times: 3, data: a}], pace: {gap: 25ms}}, fault: {type: slow-body, bytes-per-second: 900}", nil, "0 a, 25 a, 50 a complete"},
			"truncated":                   {"{stream: [{times: 5, data: a}]}, fault: {type: truncate}", nil, "0 aa fault"},
			"forever, the step left out":  {"{stream: [{times: forever, items: [{data: a, if: json-params.x = 1}, {data: b, with: previous}]}], pace: {gap: 10ms}, max-duration: 25ms}", nil, "0 b, 10 b, 20 b, 25  max-duration"},
			"forever, the after left out": {"{stream: [{times: forever, items: [{data: a, after: 10ms, if: json-params.x = 1}, {data: b}, {data: c}]}], max-duration: 25ms}", nil, "0 bc, 10 bc, 20 bc, 25  max-duration"},
			"forever, with next":          {"{stream: [{times: forever, items: [{data: a}, {data: b, with: next}]}], pace: {gap: 10ms}, max-duration: 25ms}", nil, "0 a, 10 ba, 20 ba, 25  max-duration"},
			"truncated, without end":      {"{stream: [{times: forever, data: a}], pace: {gap: 1s}}, fault: {type: truncate}", nil, "0 a, 1000 a, 2000 a, 3000 a, 4000 a, 5000 a, 6000 a, 7000 a, 8000 a, 9000 a fault"},
			"reset after items":           {"{stream: [{times: 3, data: a}], pace: {gap: 10ms}}, fault: {type: reset, after: 2 items}", nil, "0 a, 10 a fault"},
			"reset after all":             {"{stream: [{times: 2, data: a}], pace: {gap: 10ms}}, fault: {type: reset, after: 100%}", nil, "0 a, 10 a fault"},
			"reset after a part":          {"{stream: [{times: 5, data: a}], pace: {gap: 10ms}}, fault: {type: reset, after: 40%}", nil, "0 a, 10 a fault"},
			"reset after a time":          {"{stream: [{times: 3, data: a}], pace: {first: 5ms, gap: 10ms}}, fault: {type: reset, after: 13ms}", nil, "5 a, 15 a, 18  fault"},
			"reset at once":               {"{stream: [{times: 3, data: a}]}, fault: {type: reset, after: 0 items}", nil, "0  fault"},
			"reset after the end":         {"{stream: [{times: 3, data: a}]}, fault: {type: reset, after: 4 items}", nil, "0 aaa complete"},
			"truncated after items":       {"{stream: [{times: 3, data: a}]}, fault: {type: truncate, after: 1 item}", nil, "0 a fault"},
			"malformed":                   {"{stream: [{times: 3, data: abc}], pace: {gap: 10ms}}, fault: {type: malformed, after: 1 item}", nil, "0 abc, 10 data: fault"},
			"malformed, the first":        {"{stream: [{times: 3, line: abcdefg}]}, fault: {type: malformed, after: 0 items}", nil, "0 abcd fault"},
			"malformed after a time":      {"{stream: [{times: 3, line: abcdefg}], pace: {gap: 10ms}}, fault: {type: malformed, after: 5ms}", nil, "0 abcdefg, 10 abcd fault"},
			"malformed after the end":     {"{stream: [{times: 2, data: a}]}, fault: {type: malformed, after: 2 items}", nil, "0 aa complete"},
			"error":                       {"{stream: [{times: 4, data: '{{stream.index}}'}], pace: {gap: 10ms}}, fault: {type: error, item: {data: 'no {{stream.index}}'}}", nil, "0 0, 10 1, 20 no 2 fault"},
			"error after items":           {"{stream: [{times: forever, data: a}], pace: {gap: 10ms}}, fault: {type: error, after: 1 item, item: {event: error, data: {code: 1}}}", nil, `0 a, 10 event: error{"code":1} fault`},
			"error, its text":             {"{template: false, stream: [{times: 2, line: '{{a}}'}]}, fault: {type: error, item: {line: '{{method}}'}}", nil, "0 {{a}}GET fault"},
			"stall":                       {"{stream: [{times: 4, data: a}], pace: {gap: 10ms}, heartbeat: 15ms}, fault: {type: stall}", nil, "0 a, 10 a, 3600000  max-duration"},
			"stall after a time":          {"{stream: [{times: forever, data: a}], pace: {gap: 10ms}, max-duration: 1m}, fault: {type: stall, after: 15ms}", nil, "0 a, 10 a, 60000  max-duration"},
			"stall after the last item":   {"{stream: [{times: 2, data: a}], max-duration: 1m}, fault: {type: stall, after: 2 items}", nil, "0 aa, 60000  max-duration"},
			"stall before the first":      {"{stream: [{times: 2, data: a}], pace: {first: 5ms, shared: 10/s}, max-duration: 1m}, fault: {type: stall, after: 0 items}", nil, "5 , 60000  max-duration"},
			"never":                       {"{stream: [{times: 4, data: a}]}, fault: {type: stall, rate: 0}", nil, "0 aaaa complete"},
			"speeds":                      {"{stream: [{times: 3, data: a}]}, fault: {type: slow-body, bytes-per-second: {min: 900, max: 900}}", nil, "0 a, 10 a, 20 a complete"},
			"cut":                         {"{stream: [{times: 2, line: a}], cut: {rate: 100%, pause: 5ms}, pace: {gap: 10ms}}", nil, "0 a, 5 , 10 a, 15  complete"},
			"cut, without a pause":        {"{stream: [{line: a}], cut: {rate: 1}}", nil, "0 a, 0  complete"},
			"cut, overdue":                {"{stream: [{times: 2, line: a}], cut: {rate: 1, pause: 15ms}, pace: {gap: 10ms}, max-duration: 12ms}", nil, "0 a, 15  max-duration"},
			"shared, alone":               {"{stream: [{times: 3, data: a}], pace: {gap: 10ms, shared: 1000/s}}", nil, "0 a, 10 a, 20 a complete"},
			"shared, beyond":              {"{stream: [{times: 3, data: a}], pace: {gap: 10ms, shared: 50/s}}", nil, "0 a, 20 a, 40 a complete"},
			"shared, at once":             {"{stream: [{data: a}, {data: b, after: 0ms}, {data: c}], pace: {shared: 50/s}}", nil, "0 ab, 20 c complete"},
			"shared, no gap":              {"{stream: [{times: 3, data: a}], pace: {shared: 50/s}}", nil, "0 a, 20 a, 40 a complete"},
		} {
			if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: "+c.response+"}"))); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := sends(opened(t, s, "/"), time.Now(), c.late...); got != c.want {
				t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
			}
		}
	})
}

// A stream asks for room only if something is due, and then waits for no longer than it lasts.
func TestFlow_NeedsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			response string
			wait     time.Duration // before there is no room
			lacks    bool
			until    time.Duration // when it goes on without room
		}{
			{"{stream: [{times: 3, data: a}], pace: {gap: 1s}}", 0, false, time.Second},
			{"{stream: [{times: 3, data: a}], pace: {gap: 1s}}", time.Second, true, time.Hour + time.Second},
			{"{stream: [{times: 3, data: a}], pace: {gap: 1s}, max-duration: 3s}", time.Second, true, 3 * time.Second},
			{"{stream: [{times: 3, data: a}], pace: {gap: 1s}, heartbeat: 5s}", time.Second, true, 5 * time.Second},
			{"{stream: [{times: 3, data: a}], pace: {gap: 1s}}, fault: {type: truncate, after: 4s}", time.Second, true, 4 * time.Second},
			{"{stream: [{data: aaa}], cut: {rate: 1, pause: 1s}}", 0, false, time.Second},
			{"{stream: [{data: aaa}], cut: {rate: 1, pause: 1s}}", time.Second, true, time.Hour + time.Second},
		} {
			s := newServer(t, compile.Options{})
			if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: "+c.response+"}"))); err != nil {
				t.Fatal(err)
			}
			f := opened(t, s, "/")
			begun := time.Now()
			f.step(nil, true)
			<-time.After(c.wait)
			if _, ended := f.step(nil, false); ended || f.lacks != c.lacks || f.until.Sub(begun) != c.until {
				t.Errorf("%s after %v: lacks room %v, until %v, ended %v; want %v, %v", c.response, c.wait, f.lacks, f.until.Sub(begun), ended, c.lacks, c.until)
			}
			f.finish(true)
		}
	})
}

// Streams that share a rate slow each other down, for all alike, and only while they are open.
func TestFlow_Shared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, compile.Options{})
		if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {stream: [{times: 4, data: a}], pace: {gap: 10ms, shared: 50/s}}}"))); err != nil {
			t.Fatal(err)
		}
		first, second := opened(t, s, "/"), opened(t, s, "/")
		begun := time.Now()
		for _, f := range []*flow{first, second} {
			if b, _ := f.step(nil, true); string(b) != "data: a\n\n" {
				t.Fatalf("got %q", b)
			}
		}
		first.step(nil, true)
		for i, f := range []*flow{first, second} { // 200 items a second are wanted
			if got := f.dueAt().Sub(begun); got != 40*time.Millisecond {
				t.Errorf("stream %d waits %v, want 40ms", i, got)
			}
		}
		<-time.After(20 * time.Millisecond) // of the bubble: 5 ms by the clock
		second.finish(true)
		if got, want := sends(first, begun), "30 a, 50 a, 70 a complete"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// A stream that ends before its next item is due frees its place when it ends.
func TestFlow_Place(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, compile.Options{})
		if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, capacity: {concurrent: 1, queue: 0}, response: {stream: [{data: a}, {data: b, after: 1h}], max-duration: 1s}}"))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, want := sends(opened(t, s, "/"), time.Now()), "0 a, 1000  max-duration"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

// With a seed, the n-th stream has the same gaps and values, whatever happens to others.
func TestFlow_Seed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := uint64(7)
		var before []string
		for round := range 2 {
			s := newServer(t, compile.Options{Seed: &seed})
			if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {stream: [{times: 5, data: '{{random-int(1, 1000)}}'}], pace: {gap: {max: 50ms}}}}"))); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				f := opened(t, s, "/")
				got := sends(f, time.Now(), time.Duration(round)*time.Microsecond)
				if round == 0 {
					before = append(before, got)
				} else if got != before[n] {
					t.Errorf("stream %d: got %s, before %s", n, got, before[n])
				}
			}
		}
		if before[0] == before[1] {
			t.Errorf("two streams are the same: %s", before[0])
		}
	})
}

// Without latencies everything is sent at once, and a stream without an end has 100 items.
func TestFlow_NoLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, compile.Options{NoLatency: true})
		if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {stream: [{times: forever, data: a}], pace: {first: 1s, gap: 10ms, shared: 1/s}}}"))); err != nil {
			t.Fatal(err)
		}
		if got, want := sends(opened(t, s, "/"), time.Now()), "0 "+strings.Repeat("a", 100)+" complete"; got != want {
			t.Errorf("got %s", got)
		}
		if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {stream: [{times: 4, line: a}], cut: {rate: 1, pause: 1m}}, fault: {type: stall}}"))); err != nil {
			t.Fatal(err)
		}
		if got, want := sends(opened(t, s, "/"), time.Now()), "0 a, 0 a, 0  fault"; got != want {
			t.Errorf("a stall: got %s", got)
		}
	})
}

// wholeReply returns the flow of a reply that is sent as one body, of a language model with further properties.
func wholeReply(t *testing.T, more string) *flow {
	t.Helper()
	s := newServer(t, compile.Options{})
	if err := s.Apply(config.Parse("m.yml", []byte("- llm: {provider: openai, answer: {text: Hi}"+more+"}"))); err != nil {
		t.Fatal(err)
	}
	var x wire.Exchange
	x.Request.SetRequestURI("/v1/chat/completions")
	x.Request.Header.SetHost("a")
	x.Request.Header.SetMethod("POST")
	x.Request.SetBodyString(`{"model": "a", "messages": [{"role": "user", "content": "Hello"}]}`)
	c := receive(asReceived(&x))
	if s.serve(c); c.flow == nil {
		t.Fatalf("the reply is %d %s", c.Reply.Status, c.Reply.Body)
	}
	return c.flow
}

// An answer that is sent as a whole needs no room in the window of its client: waiting for that is left to its stream.
func TestFlow_WholeWithoutRoom(t *testing.T) {
	if b, ended := wholeReply(t, "").step(nil, false); !ended || !strings.Contains(string(b), `"Hi"`) {
		t.Errorf("got %q, ended: %t", b, ended)
	}
}

// An answer that is sent as a whole is truncated in its middle, and comes when the last byte of a slow body would.
func TestFlow_WholeWithFault(t *testing.T) {
	f := wholeReply(t, ", fault: {type: truncate}")
	b, ended := f.step(nil, true)
	if n := len(f.call.Reply.Body); !ended || !f.isBroken() || len(b) != n/2 || n == 0 || f.call.Trace.Fault != "truncate" {
		t.Errorf("got %q of %d bytes, ended: %t, broken: %t, fault %q", b, n, ended, f.isBroken(), f.call.Trace.Fault)
	}
	f = wholeReply(t, ", fault: {type: slow-body, bytes-per-second: 1}")
	b, ended = f.step(nil, true)
	if took, n := f.until.Sub(f.begun), len(f.body); ended || len(b) > 0 || n == 0 || took != time.Duration(n)*time.Second {
		t.Errorf("%d bytes at 1 byte a second are due after %v", n, took)
	}
}

// Without faults no stream is cut, and no item of one.
func TestFlow_NoFaults(t *testing.T) {
	s := newServer(t, compile.Options{NoFaults: true})
	if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {stream: [{times: 4, data: a}], cut: {rate: 1}}, fault: {type: stall}}"))); err != nil {
		t.Fatal(err)
	}
	b, ended := opened(t, s, "/").step(nil, true)
	if got := string(b); got != strings.Repeat("data: a\n\n", 4) || !ended {
		t.Errorf("got %q", got)
	}
}

// A client that says which event it got last gets those after it.
func TestFlow_LastEventID(t *testing.T) {
	s := newServer(t, compile.Options{})
	const items = "stream: [{times: 3, id: '{{loop.index}}', data: '{{loop.index}}'}, {data: end}, {id: last, if: 'query-params.last = \"1\"', data: z}]"
	if err := s.Apply(config.Parse("m.yml", []byte("- endpoint: {path: /, response: {"+items+"}}\n- endpoint: {path: /whole, response: {"+items+", resume: false}}"))); err != nil {
		t.Fatal(err)
	}
	whole := "id: 1\ndata: 1\n\nid: 2\ndata: 2\n\nid: 3\ndata: 3\n\ndata: end\n\n"
	for _, c := range []struct{ path, last, want string }{
		{"/", "", whole},
		{"/", "2", "id: 3\ndata: 3\n\ndata: end\n\n"},
		{"/", "3", "data: end\n\n"},
		{"/", "4", whole},
		{"/whole", "2", whole},
		{"/?last=1", "last", "204"},
	} {
		var x wire.Exchange
		x.Request.SetRequestURI(c.path)
		x.Request.Header.SetHost("a")
		x.Request.Header.Set("Last-Event-ID", c.last)
		call := receive(asReceived(&x))
		got := ""
		if s.serve(call); call.flow != nil {
			b, _ := call.flow.step(nil, true)
			got = string(b)
		} else {
			got = fmt.Sprint(call.Reply.Status)
		}
		if got != c.want {
			t.Errorf("%s after %q: got %q, want %q", c.path, c.last, got, c.want)
		}
	}
}

// An item that panics ends its stream, which counts once and frees its place and its part of the rate, whether or not
// the head was sent.
func TestFlow_APanic(t *testing.T) {
	s := recordingServer(t, "- endpoint: {path: /, capacity: {concurrent: 1, queue: 0}, response: {stream: [{times: 3, data: a}], pace: {gap: 1ms, shared: 10/s}}}", 0)
	defer s.listen(t)()
	broken := *s.snapshot.Load().Snapshot
	broken.Responses = slices.Clone(broken.Responses)
	paced := *broken.Responses[0].Stream
	gaps, fine := 0, paced.Gap
	paced.Gap = func(part float64) time.Duration {
		if gaps++; gaps == 1 || gaps == 3 {
			panic("a defect")
		}
		return fine(part)
	}
	broken.Responses[0].Stream = &paced
	s.snapshot.Store(&world{Snapshot: &broken})
	for i := range 4 {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetUnencryptedHTTP2(i%2 == 1)
		transport.Protocols.SetHTTP1(i%2 == 0)
		gaps = i / 2 * 2 // the first two panic before the head is sent
		resp, err := (&http.Client{Transport: transport}).Get("http://" + s.address + "/")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		if err == nil {
			t.Errorf("%d: the response is whole", i)
		}
		transport.CloseIdleConnections()
		if c := s.Recorder.Counts(); c.InFlight != 0 || c.Endpoints[0].Statuses[500] != uint64(i+1) || paced.Clock.Factor() != 1 {
			t.Errorf("%d: got %+v, and a factor of %v", i, c, paced.Clock.Factor())
		}
	}
}
