package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mockserver/internal/harness"
)

// page is the page of an admin address in a headless browser.
type page struct {
	t     *testing.T
	ctx   context.Context
	admin *Process

	mu       sync.Mutex // guards the fields below
	problems []string   // errors on the console, and requests to other servers
}

// browsers contains the program names of Chromium and Chrome.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"}

// pageTestsAreDue reports whether the page is tested in a browser. In CI it is, and a missing
// browser is a failure, so that the checks cannot pass without testing the page.
func pageTestsAreDue(env func(string) string) bool {
	if asked := env("MOCKSERVER_PAGE_TESTS"); asked != "" {
		return asked == "1"
	}
	return env("CI") == "true"
}

func TestPage_AMissingBrowserIsNotPassedOverInCI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ci, tests string
		due       bool
	}{{"", "", false}, {"true", "", true}, {"", "1", true}, {"false", "", false}, {"true", "0", false}} {
		env := map[string]string{"CI": c.ci, "MOCKSERVER_PAGE_TESTS": c.tests}
		if due := pageTestsAreDue(func(name string) string { return env[name] }); due != c.due {
			t.Errorf("with %v the tests run: %v, want %v", env, due, c.due)
		}
	}
}

// theBrowser starts the browser that all tests share: each test has its own cookies, cache and
// window in it. TestMain ends it.
var theBrowser = sync.OnceValues(func() (context.Context, error) {
	var path string
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		return nil, fmt.Errorf("none of %q is on the PATH; install one to try the page, such as with apt-get install chromium", browsers)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // there is no sandbox for root
	}
	ctx, closeBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	// Events of a browser that is newer than the library are reported as errors.
	ctx, closeTab := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	endBrowser = func() {
		closeTab()
		closeBrowser()
	}
	return ctx, chromedp.Do(ctx)
})

var endBrowser = func() {}

// browse opens the page of an admin address at a part, such as "#runs". Errors on the console and
// requests to other servers are recorded, to be checked by page.clean.
func browse(t *testing.T, admin *Process, where string) *page {
	t.Helper()
	if testing.Short() || !pageTestsAreDue(os.Getenv) {
		t.Skip("a browser keeps a CPU busy for minutes; MOCKSERVER_PAGE_TESTS=1 starts one")
	}
	browser, err := theBrowser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	ctx, cancel := context.WithTimeout(ctx, 3*harness.Patience)
	p := &page{t: t, ctx: ctx, admin: admin}
	t.Cleanup(func() {
		cancel()
		closeTab()
	})
	p.must(chromedp.EmulateViewport(1280, 900))
	if err := chromedp.Listen(ctx, p.heard); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	p.must(chromedp.Navigate(admin.URL + "/" + where))
	return p
}

// heard handles an event of the browser.
func (p *page) heard(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			p.problems = append(p.problems, fmt.Sprintf("console: %s %s %s", e.Type, arg.Value, arg.Description))
		}
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		p.problems = append(p.problems, "log: "+e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, p.admin.URL+"/") && !strings.HasPrefix(url, "blob:"+p.admin.URL+"/") {
			p.problems = append(p.problems, "request to "+url)
		}
	}
}

// clean fails the test if there were errors on the console, or requests to other servers, other
// than the expected ones.
func (p *page) clean(expected ...string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
next:
	for _, problem := range p.problems {
		for _, part := range expected {
			if strings.Contains(problem, part) {
				continue next
			}
		}
		p.t.Error(problem)
	}
}

func (p *page) must(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// js returns the value of an expression in the page.
func js[T any](p *page, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until waits for an expression to become true in the page.
func (p *page) until(expression string) {
	p.t.Helper()
	held := false
	defer func() {
		if !held {
			p.t.Logf("the page says:\n%s", js[string](p, "document.body.innerText"))
		}
	}()
	harness.Until(p.t, expression, func() bool { return js[bool](p, "Boolean("+expression+")") })
	held = true
}

// says waits for an element to be shown and to contain the texts.
func (p *page) says(selector string, texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.until(fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && e.innerText.replaceAll('\u00a0', ' ').includes(%s))", literal(selector), literal(text)))
	}
}

func literal(text string) string {
	q, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text can always be encoded as JSON
	}
	return string(q)
}

// click clicks a visible element, once. On a busy machine the page may shift because the verdict
// has grown after the element was located but before the mouse is pressed, so the click misses it.
// Therefore click retries until it hits the element.
func (p *page) click(selector string) {
	p.t.Helper()
	harness.Until(p.t, "a click on "+selector, func() bool {
		p.must(chromedp.WaitVisible(chromedp.CSS(selector)))
		p.must(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{
			const aim = document.querySelector(%s);
			window.met = false;
			aim?.addEventListener("click", () => { window.met = true; }, { capture: true, once: true });
		}`, literal(selector))))
		p.must(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
		return js[bool](p, "window.met")
	})
}

// enter types into a visible element.
func (p *page) enter(selector, keys string) {
	p.t.Helper()
	p.must(chromedp.SendKeys(chromedp.CSS(selector), keys, chromedp.NodeVisible))
}

// opened returns the text of the tab that open opens.
func (p *page) opened(open func()) (text string) {
	p.t.Helper()
	own := chromedp.FromContext(p.ctx).BrowserContextID
	tab := chromedp.WaitNewTarget(p.ctx, func(info *target.Info) bool {
		return info.BrowserContextID == own && info.URL != "" && info.URL != "about:blank"
	})
	open()
	var id target.ID
	select {
	case id = <-tab:
	case <-p.ctx.Done():
		p.t.Fatal("no tab was opened")
	}
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithTargetID(id))
	defer cancel()
	other := &page{t: p.t, ctx: ctx, admin: p.admin}
	other.until("document.readyState === 'complete' && document.body.innerText.length > 0 && document.styleSheets.length > 0")
	if family := js[string](other, "getComputedStyle(document.body).fontFamily"); strings.HasPrefix(family, `"Times`) {
		p.t.Errorf("the opened page is shown without its style, in %s", family)
	}
	return js[string](other, "document.body.innerText")
}

const paged = `
- endpoint: {method: GET, path: "/users/:id|int", response: {status: 200, body: {id: 1}}}
- endpoint: {method: GET, path: /slow, latency: {min-ms: 5, max-ms: 10}, response: {status: 200, body: late}}
- endpoint: {method: POST, path: /orders, response: {status: 201, body: made}}
`

func TestPage_ARunFromItsStartToItsReport(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	p := browse(t, admin, "#runs")
	p.says("#runs", "No run has been started yet")
	p.enter("#run-name", "checkout <b>1</b>"+kb.Enter)
	p.says("#run-now", "running", "checkout <b>1</b>", "started")
	for range 25 {
		mock.Get("/users/7").Want(t, 200, `{"id":1}`)
	}
	mock.Get("/user/7")
	mock.Get("/users/seven")

	p.click("nav a[href='#endpoints']")
	p.until(`[...document.querySelectorAll("#endpoints tbody tr")].some((r) => r.cells[0].innerText.includes("GET /users/:id|int") && r.cells[1].innerText === "25" && r.innerText.includes("200\u00a0×\u00a025"))`)

	p.click("nav a[href='#unmatched']")
	p.says("#unmatched tbody tr", "GET /user/7", "GET /users/seven", "GET /users/:id|int")
	p.until(`[...document.querySelectorAll("#unmatched table button")].some((b) => b.innerText.includes("GET /users/seven") && (b.id = "seven"))`)
	p.click("#seven")
	p.says("#detail[open]", "404", "/users/seven", "endpoint_not_found")
	p.must(chromedp.KeyEvent(kb.Escape))
	p.until("!document.getElementById('detail').open")

	p.click("nav a[href='#runs']")
	p.click("#runs .danger")
	p.until(`document.querySelector("#runs tbody tr").innerText.includes("trusted")`)
	p.says("#runs tbody tr", "27")
	report := p.opened(func() { p.click("#runs tbody a") })
	for _, want := range []string{"checkout <b>1</b>", "GET /users/:id|int", "/users/seven", "25"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
	p.clean()
}

func TestPage_ARunOfAFleet(t *testing.T) {
	t.Parallel()
	replicas := unusedAddresses(t, 2)
	var mocks []*Process
	for _, address := range replicas {
		mocks = append(mocks, Serving(t, paged, "--admin", address, "--fleet", strings.Join(replicas, ",")))
	}
	p := browse(t, AdminOf(mocks[0]), "#fleet")
	p.says("#fleet", "All 2 replicas are ready and serve the same", replicas[1], "No run has been started yet")
	p.enter("#fleet-run-name", "both"+kb.Enter)
	p.says("#run-now", "running", "both")
	for i, mock := range mocks {
		for range 2 + i {
			mock.Get("/users/7").Want(t, 200, `{"id":1}`)
		}
	}
	p.until("!document.getElementById('fleet-run-start').checkVisibility()")
	p.click("#fleet .danger")
	p.until(`[...document.querySelectorAll("#fleet tbody tr")].some((r) => r.innerText.includes("both") && r.innerText.includes("trusted") && r.innerText.includes("5"))`)
	if report := p.opened(func() { p.click("#fleet tbody a") }); !containsAll(report, append(replicas, "both", "GET /users/:id|int")) {
		t.Errorf("the report is\n%s", report)
	}
	p.clean()
}

func TestPage_TwoRunsAreComparedWithAToken(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged, "--admin-token", "a-token-of-some-length")
	p := browse(t, admin, "#runs")
	p.says("#token", "token")
	p.until("!document.getElementById('contents').checkVisibility()")
	if why := js[string](p, "document.getElementById('token-why').innerText"); why != "" {
		t.Errorf("before a token is typed the page complains: %s", why)
	}
	p.clean() // nothing was requested, and so nothing was refused
	p.enter("#token-text", "another"+kb.Enter)
	p.says("#token-why", "This token is wrong")
	p.enter("#token-text", "a-token-of-some-length"+kb.Enter)
	for _, name := range []string{"before", "after"} {
		p.enter("#run-name", name+kb.Enter)
		p.says("#run-now", "running", name)
		mock.Get("/users/1")
		p.click("#runs tbody tr:first-child .danger")
		p.until("document.getElementById('run-start').checkVisibility()")
	}
	if text := p.opened(func() { p.click("#runs tbody tr:first-child a") }); !strings.Contains(text, "after") || !strings.Contains(text, "GET /users/:id|int") {
		t.Errorf("the report is\n%s", text)
	}
	p.until(`document.querySelector("#runs form:last-of-type a").checkVisibility()`)
	if text := p.opened(func() { p.click("#runs form:last-of-type a") }); !strings.Contains(text, "before") || !strings.Contains(text, "after") {
		t.Errorf("the comparison is\n%s", text)
	}
	if js[bool](p, "JSON.stringify(localStorage).includes('token-of')") || js[bool](p, "document.cookie !== ''") {
		t.Error("the token is kept for longer than the tab is open")
	}
	p.clean("401")
}

func TestPage_WhatRequestsHoldIsText(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	const hostile = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`
	mock.Do("POST", "/"+`%3Cimg%20src=x%20onerror=window.hit=1%3E`, hostile, "X-Evil: "+hostile, "Content-Type: text/html")
	p := browse(t, admin, "#unmatched")
	p.click("#unmatched .open")
	p.says("#detail pre", hostile)
	p.says("#detail dd", hostile)
	if js[bool](p, "Boolean(window.hit) || Boolean(document.querySelector('main img, dialog img, dialog script'))") {
		t.Error("the content of a request has become part of the page")
	}
	p.clean()
}

func TestPage_ShowsSetsTheirRowsAndChanges(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, `
- data: {name: accounts, isolate: header-params.X-VU, rows: [{id: "1", n: 1}, {id: "2", n: 2}]}
- endpoint: {method: POST, path: "/:id", do: [{add: {in: accounts, key: path-params.id, field: n, by: 10}}], response: {body: ok}}
- endpoint: {method: DELETE, path: "/:id", do: [{delete: {in: accounts, key: path-params.id}}], response: {body: ok}}
`)
	mock.Do("POST", "/1", "")
	mock.Do("POST", "/2", "", "X-VU: v7")
	mock.Do("DELETE", "/2", "")
	mock.Do("DELETE", "/none", "")
	p := browse(t, admin, "#sets")
	p.says("#sets tbody", "accounts", "add 2", "delete 1", "delete row_not_found 1")
	p.click(`#sets [aria-label="Rows of accounts"]`)
	p.says("#sets", "Rows of accounts", `{"id":"1","n":11}`)
	p.click(`#sets [aria-label="Changes of accounts"]`)
	p.says("#sets", "Changes of accounts", "2: deleted", `{"id":"2","n":12}`, "v7")
	p.click(`#sets [aria-label="Reset of accounts"]`)
	p.says("#question[open]", "Drop all changes to accounts")
	p.click("#question-yes")
	p.says("#sets", "No rows.")
	mock.Do("POST", "/2", "").Want(t, 200, "ok")
	p.says("#sets", `{"id":"2","n":12}`)
	p.clean()
}

func TestPage_WebhooksAreSentAndCancelled(t *testing.T) {
	t.Parallel()
	got := make(chan string, 8)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the comparison detects an incomplete body
		got <- string(body)
	}))
	t.Cleanup(hook.Close)
	mock, admin := Administered(t, fmt.Sprintf(`
- endpoint: {method: POST, path: "/orders/:id", response: {status: 201, body: made}, webhook: {sleep-time: 3600, method: POST, url: "%s/{{path-params.id}}", body: "{{path-params.id}}"}}
`, hook.URL))
	for _, id := range []string{"1", "2"} {
		mock.Do("POST", "/orders/"+id, "")
	}
	p := browse(t, admin, "#webhooks")
	p.until("document.querySelectorAll('#webhooks tbody tr').length === 2")
	p.click(`#webhooks [aria-label$="/1"].danger`)
	p.says("#question[open]", "Cancel", hook.URL+"/1")
	p.click("#question-no")
	p.click(`#webhooks [aria-label$="/2"]:not(.danger)`)
	if body := <-got; body != "2" {
		t.Errorf("%q was sent, want 2", body)
	}
	p.until("document.querySelectorAll('#webhooks tbody tr').length === 1")
	p.click(`#webhooks [aria-label$="/1"].danger`)
	p.click("#question-yes")
	p.says("#webhooks", "No webhooks are pending")
	p.until(`[...document.querySelectorAll("#webhook-figures div")].some((d) => d.innerText.includes("cancelled") && d.querySelector("dd").innerText === "1")`)
	if len(got) > 0 {
		t.Errorf("%q was sent although it was cancelled", <-got)
	}
	p.clean()
}

func TestPage_TheJournalIsSearched(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged, "--journal-sample", "1")
	mock.Get("/users/1")
	mock.Do("POST", "/orders", "an order")
	p := browse(t, admin, "#journal")
	p.says("#journal tbody", "GET /users/1", "POST /orders")
	p.enter("#journal [name=method]", "post"+kb.Enter)
	p.until("document.querySelectorAll('#journal tbody tr').length === 1")
	p.click("#journal tbody .open")
	p.says("#detail pre", "an order", "made")
	p.click("#detail-close")
	p.enter("#journal [name=status]", "many"+kb.Enter)
	p.says("#journal-tally", "status", "many")
	p.clean("400")
}

func TestPage_TheVerdictAndTheConfiguration(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged, "--verdict", "own-p99=0ms", "--admin-token", "a-token-of-some-length")
	p := browse(t, admin, "#configuration")
	p.enter("#token-text", "a-token-of-some-length"+kb.Enter)
	p.says("#configuration", "--verdict", "own-p99=0ms", "GET /slow", "latency")
	if js[bool](p, "document.body.innerText.includes('a-token-of')") {
		t.Error("the token is shown")
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asking.Go(func() { // until the end, since the reason is that of the last seconds
		for range time.Tick(100 * time.Millisecond) {
			if _, err := mock.Try("GET", "/users/1", ""); err != nil || ctx.Err() != nil {
				return
			}
		}
	})
	p.says("#verdict-word", "not trusted")
	p.says("#verdict-reasons", "own-p99", "expected at most 0 ms")
	if role := js[string](p, "document.getElementById('verdict-word').ariaLive"); role != "polite" {
		t.Errorf("a change of the verdict is announced %q", role)
	}
	p.click("#reload")
	p.says("#reload-said", "Reloaded: 3 endpoints")
	p.clean()
}

// Not in parallel with other tests: one of them might get the address that is to be reused.
func TestPage_AServerThatIsGoneAndBack(t *testing.T) {
	NeedsProcess(t) // it is killed
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", paged)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := socket.Addr().String()
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	mock := Start(t, "-c", file, "--admin", address)
	p := browse(t, AdminOf(mock), "#endpoints")
	p.says("#connection", "live")
	p.says("#endpoints", "GET /slow")
	if err := mock.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.says("#gone", "The server does not answer", "The data shown is from")
	Start(t, "-c", file, "--admin", address)
	p.says("#connection", "live")
	p.until("!document.getElementById('gone').checkVisibility()")
	p.clean("ERR_CONNECTION", "ERR_EMPTY", "ERR_SOCKET")
}

func TestPage_ThousandsOfEndpoints(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "- endpoint: {method: GET, path: /things/%d, response: {status: 200, body: ok}}\n", i)
	}
	mock, admin := Administered(t, text.String())
	mock.Get("/things/2987")
	p := browse(t, admin, "#endpoints")
	p.says("#endpoints .where", "1–50 of 3,000")
	p.click("#endpoints .at-requests .sort")
	p.until(`document.querySelector("#endpoints tbody tr").innerText.includes("/things/2987") && document.querySelector("#endpoints .at-requests").ariaSort === "descending"`)
	p.click("#endpoints .pages button:last-child")
	p.says("#endpoints .where", "51–100 of 3,000")
	p.enter("#endpoints input", "things/123")
	p.until(`document.querySelectorAll("#endpoints tbody tr").length === 11`)
	p.enter("#endpoints input", "4567")
	p.says("#endpoints", "Nothing matches the filter")
	if n := js[int](p, "document.querySelectorAll('*').length"); n > 3000 {
		t.Errorf("the document has %d elements", n)
	}
	p.clean()
}

func TestPage_ByKeyboardAlone(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	mock.Get("/nowhere")
	p := browse(t, admin, "")
	p.says("#runs", "No run has been started yet")
	tab := func(want string) {
		t.Helper()
		seen := []string{}
		for range 40 {
			p.must(chromedp.KeyEvent(kb.Tab))
			now := js[string](p, "document.activeElement.innerText || document.activeElement.ariaLabel || document.activeElement.tagName")
			seen = append(seen, now)
			if js[bool](p, "document.activeElement !== document.body && getComputedStyle(document.activeElement).outlineStyle === 'none'") {
				t.Errorf("the focus on %q is not visible", now)
			}
			if strings.HasPrefix(now, want) {
				return
			}
		}
		t.Fatalf("the tab key does not move to %q, but to %q", want, seen)
	}
	tab("Skip to the contents")
	p.must(chromedp.KeyEvent(kb.Enter))
	p.until("document.activeElement.id === 'main' && location.hash === ''")
	tab("Unmatched")
	p.must(chromedp.KeyEvent(kb.Enter))
	p.says("#unmatched", "/nowhere")
	tab("GET /nowhere")
	p.must(chromedp.KeyEvent(kb.Enter))
	p.says("#detail[open]", "404")
	p.until("document.getElementById('detail').contains(document.activeElement)")
	p.must(chromedp.KeyEvent(kb.Escape))
	p.until("document.activeElement.innerText === 'GET /nowhere'")
	mock.Get("/another") // new rows must not move the focus
	p.says("#unmatched", "/another")
	mock.Get("/nowhere")
	p.until(`[...document.querySelectorAll("#unmatched tbody tr")].some((r) => r.innerText.includes("/nowhere") && r.querySelector("td.at-count").innerText === "2")`)
	if now := js[string](p, "document.activeElement.innerText"); now != "GET /nowhere" {
		t.Errorf("the focus went to %q", now)
	}
	p.clean()
}

// contrasts finds visible texts whose contrast with their background is below 4.5:1, or 3:1 for
// large text, according to the formula of WCAG 2.
const contrasts = `(() => {
  const parse = (c) => { const [r, g, b, a = 1] = c.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
  const light = ({ r, g, b }) => { const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const under = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a > 0) return c; } return parse("rgb(255,255,255)"); };
  const found = [];
  let looked = 0;
  for (const e of document.querySelectorAll("body *")) {
    const text = e.matches("input") ? e.value || e.placeholder : [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
    if (!text || !e.checkVisibility({ visibilityProperty: true }) || e.closest("caption, noscript, option")) continue;
    const style = getComputedStyle(e, e.matches("input") && !e.value ? "::placeholder" : null), size = parseFloat(style.fontSize);
    const a = light(parse(style.color)), b = light(under(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    looked++;
    if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) found.push(ratio.toFixed(2) + " " + e.tagName + " " + text.slice(0, 40));
  }
  return looked < 30 ? ["only " + looked + " texts were looked at"] : found;
})()`

func TestPage_EveryWidthInDarkAndLight(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged+`
- data: {name: accounts-with-a-long-name, rows: [{id: 1, text: "a row that does not fit on a narrow screen of a phone, however it is turned"}]}
- endpoint: {method: POST, path: /hooked, response: {status: 201, body: made}, webhook: {sleep-time: 3600, method: POST, url: "http://127.0.0.1:9/a/very/long/path/that/does/not/fit/on/a/narrow/screen/of/a/phone", body: x}}
`)
	mock.Get("/users/1")
	mock.Get("/slow")
	mock.Do("POST", "/hooked", "")
	mock.Get("/" + strings.Repeat("nowhere", 30) + "?x=" + strings.Repeat("y", 300))
	p := browse(t, admin, "#runs")
	p.enter("#run-name", strings.Repeat("name", 20)+kb.Enter)
	p.says("#run-now", "running")
	for _, part := range []string{"endpoints", "unmatched", "webhooks", "sets", "journal", "runs", "configuration"} {
		p.must(chromedp.Evaluate[chromedp.Void]("location.hash = '#" + part + "'"))
		p.until("document.querySelector('#" + part + " tbody tr')?.checkVisibility()")
		p.fits(part)
	}
	p.click("#wall")
	p.until("document.querySelector('#unmatched tbody tr')?.checkVisibility() && document.querySelector('#webhook-figures')?.checkVisibility()")
	p.fits("wall")
	p.clean()
}

// fits checks that the page fits into windows of several widths, and checks the colours of the
// visible elements with each verdict.
func (p *page) fits(part string) {
	p.t.Helper()
	for _, width := range []int64{320, 400, 700, 930, 1280, 1920, 3840} {
		p.must(chromedp.EmulateViewport(width, 900))
		if over := js[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			p.t.Errorf("%s: the page overflows a window of %d by %d", part, width, over)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
		if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
			p.t.Fatal(err)
		}
		for _, verdict := range []string{"", "trusted", "not-trusted"} {
			set := "document.getElementById('verdict').className = " + literal(verdict) + ", "
			for _, found := range js[[]string](p, set+contrasts) {
				p.t.Errorf("%s, %s, %s: %s", part, scheme, verdict, found)
			}
		}
	}
}

func TestPage_EverythingHasARoleAndAName(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	mock.Get("/nowhere")
	p := browse(t, admin, "")
	named := map[string]bool{"button": true, "link": true, "textbox": true, "searchbox": true, "combobox": true, "table": true, "img": true, "image": true, "region": true, "navigation": true, "columnheader": true}
	for _, part := range []string{"endpoints", "unmatched", "webhooks", "sets", "journal", "runs", "configuration"} {
		p.must(chromedp.Evaluate[chromedp.Void]("location.hash = '#" + part + "'"))
		p.until("document.querySelector('#" + part + " .scroll')?.hidden === (document.querySelector('#" + part + " tbody tr') === null)")
		tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		roles := map[string]int{}
		for _, node := range tree.Nodes {
			if node.Ignored || node.Role == nil {
				continue
			}
			var role, name string
			_ = json.Unmarshal(node.Role.Value, &role) // a missing role is not a text
			if node.Name != nil {
				_ = json.Unmarshal(node.Name.Value, &name)
			}
			roles[role]++
			if named[role] && strings.TrimSpace(name) == "" {
				t.Errorf("%s: a %s has no name", part, role)
			}
		}
		for _, landmark := range []string{"banner", "main", "navigation", "heading"} {
			if roles[landmark] == 0 {
				t.Errorf("%s: there is no %s, but %v", part, landmark, roles)
			}
		}
	}
	if levels := js[[]int](p, "[...document.querySelectorAll('h1, h2, h3')].filter((h) => h.checkVisibility()).map((h) => Number(h.tagName[1]))"); len(levels) < 4 || levels[0] != 1 {
		t.Errorf("the headings have the levels %v", levels)
	}
	p.clean()
}
