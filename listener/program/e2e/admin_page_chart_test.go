package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// reads checks that the first chart shows its values at the arrow keys and under the pointer, until the
// Escape key is pressed or the pointer has left.
func (p *page) reads(want string) {
	p.t.Helper()
	const said = "document.querySelector('figure output').innerText"
	p.must(chromedp.Evaluate[chromedp.Void]("document.querySelector('figure .chart').focus()"), chromedp.KeyEvent(kb.ArrowLeft))
	p.says("figure output", want)
	p.must(chromedp.KeyEvent(kb.Home))
	p.until(said + " !== '' && document.querySelector('figure .cursor')")
	p.must(chromedp.KeyEvent(kb.Escape))
	p.until(said + " === '' && !document.querySelector('figure .cursor')")
	at := js[[]float64](p, "((r) => [r.left + r.width * 0.6, r.top + r.height / 2])(document.querySelector('figure .chart').getBoundingClientRect())")
	p.must(chromedp.MouseEvent("mouseMoved", at[0], at[1]))
	p.says("figure output", want)
	if over := js[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		p.t.Errorf("the values make the page overflow by %d", over)
	}
	p.must(chromedp.MouseEvent("mouseMoved", 1, 1))
	p.until(said + " === ''")
}

func TestPage_ChartsShowTheirValuesAndTheRuns(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	if got := admin.Do("POST", "/__admin/runs", `{"name": "marked"}`); got.Status != 201 {
		t.Fatal(got)
	}
	p := browse(t, admin, "")
	for range 5 {
		mock.Get("/users/7")
	}
	p.until(`document.querySelectorAll("figure .chart").length === 7 && [...document.querySelectorAll("figure .chart")].every((e) => e.querySelector("rect.run title")?.textContent === "run marked")`)
	p.until(`document.querySelector("#charts figure path").getAttribute("d").length > 0`)
	p.reads("delivered p99: ")
	p.must(chromedp.EmulateViewport(390, 800))
	p.reads("declared p99: ")
	for _, name := range js[[]string](p, `[...document.querySelectorAll("#figures > div, figure, #webhook-figures > div, thead th:not(.at-actions)")].filter((e) => !e.title).map((e) => e.innerText || e.className)`) {
		t.Errorf("%q has no explanation", name)
	}
	p.clean()
}

func TestPage_UnmatchedRequestsAreGrouped(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	for i := range 30 {
		mock.Get(fmt.Sprintf("/user/%d", i))
	}
	mock.Do("DELETE", "/orders", "")
	p := browse(t, admin, "#unmatched")
	p.until(`document.querySelectorAll("#unmatched tbody tr").length === 2`)
	p.says("#unmatched tbody tr", "GET /user/0", "and 27 other paths", "GET /users/:id|int (")
	p.until(`[...document.querySelectorAll("#unmatched td.at-count")].map((e) => e.innerText).sort().join() === "1,30"`)
	p.must(chromedp.EmulateViewport(390, 800))
	p.until(`[...document.querySelectorAll("#unmatched td.at-reason")].every((e) => e.getBoundingClientRect().right <= innerWidth)`)
	p.must(chromedp.EmulateViewport(1280, 900))
	p.enter("#unmatched input", "/user/29")
	p.until(`document.querySelectorAll("#unmatched tbody tr").length === 1`)
	p.click("nav a[href='#journal']")
	p.says("#journal", "The journal has no matching requests.") // it leaves them out
	p.must(chromedp.Evaluate[chromedp.Void](`document.querySelector("#journal [name=kept]").value = "unmatched"`))
	p.click("#journal [type=submit]")
	p.says("#journal tbody", "GET /user/29")
	p.clean()
}

func TestPage_WebhooksThatWereGivenUpAreListed(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, fmt.Sprintf(`
- endpoint: {method: POST, path: /orders, response: {status: 201, body: made}, webhook: {sleep-time: 0, url: "http://ann:hunter2@%s/hook", body: x}}
- endpoint: {method: POST, path: /invalid, response: {body: made}, webhook: {sleep-time: 0, url: "{{query-params.to}}", body: x}}
`, Free(t)))
	for range 2 {
		mock.Do("POST", "/orders", "")
	}
	mock.Do("POST", "/invalid?to=ftp://host/", "")
	p := browse(t, admin, "#webhooks")
	p.until(`[...document.querySelectorAll("#webhooks tbody tr")].some((r) => r.innerText.includes("POST /orders") && r.querySelector("td.at-times").innerText === "2")`)
	p.says("#webhooks tbody tr", "/hook", "connection refused", "POST /invalid", "ftp://host/")
	if text := js[string](p, "document.body.innerText"); strings.Contains(text, "hunter2") {
		t.Errorf("the password is shown: %s", text)
	}
	p.clean()
}

// unexplained finds the columns, tiles and charts without a sentence about them, which is a title and
// in a legend.
const unexplained = `((legends) => [...document.querySelectorAll("thead th, figure, #figures > div, .figures > div")].filter((e) =>
	e.title.split(" ").length < 3 || !legends.some((text) => text.includes(e.title.replace(/[.]$/, "")))).map((e) => e.textContent.slice(0, 40) + ": " + e.title)
)([...document.querySelectorAll(".meanings dd, caption")].map((e) => e.textContent))`

// Every column, tile and chart of the page, of reports and of comparisons is explained.
func TestPage_EverythingIsExplained(t *testing.T) {
	t.Parallel()
	replica := unusedAddresses(t, 1)[0]
	mock := Serving(t, paged+"- resource: {path: /notes, data: {name: notes}}\n", "--admin", replica, "--fleet", replica)
	admin := AdminOf(mock)
	for _, run := range []string{"1", "2"} {
		if got := admin.Do("POST", "/__admin/runs", `{"name": "a run", "schedule": {"rate": 100}}`); got.Status != 201 {
			t.Fatal(got)
		}
		for _, path := range []string{"/slow", "/users/1", "/users", "/notes"} {
			mock.Get(path)
		}
		admin.Do("POST", "/__admin/runs/"+run+"/stop", "")
	}
	p := browse(t, admin, "#endpoints")
	p.says("#endpoints tbody", "GET /slow")
	for _, where := range []string{"", "__admin/runs/1/report", "__admin/runs/compare?a=1&b=2&format=html"} {
		if where != "" {
			p.must(chromedp.Navigate(admin.URL + "/" + where))
		}
		p.until("document.querySelectorAll('thead th').length > 10 && document.querySelectorAll('.meanings dd').length > 8")
		for _, text := range js[[]string](p, unexplained) {
			t.Errorf("/%s: no explanation of %s", where, text)
		}
	}
	p.clean()
}

// A report of 20 endpoints takes four screens, and the first has what matters most.
func TestReport_IsShortAndPrints(t *testing.T) {
	t.Parallel()
	named := func(i int) string { return strings.Repeat(string(rune('a'+i)), 9) }
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "- endpoint: {method: GET, path: \"/%s/parts/:part\", latency: {min-ms: 1, max-ms: 2}, response: {body: ok}}\n", named(i))
	}
	mock, admin := Administered(t, text.String(), "--verdict", "probe-p99=off,echo-p99=off,own-p99=off,injection-p99=off")
	for _, name := range []string{"before", "after"} {
		var run struct{ ID string }
		admin.Do("POST", "/__admin/runs", `{"name": "`+name+`"}`).Into(t, 201, &run)
		for i := range 40 {
			mock.Get("/" + named(i%20) + "/parts/7")
			mock.Get(fmt.Sprintf("/%s/part/%d", named(0), i))
		}
		admin.Do("POST", "/__admin/runs/"+run.ID+"/stop", "")
	}
	p := browse(t, admin, "__admin/runs/1/report")
	p.says("h1", "before")
	p.must(chromedp.EmulateViewport(1120, 900))
	if height := js[float64](p, "document.documentElement.scrollHeight"); height > 4*900 {
		t.Errorf("the report is %v screens long, want at most 4", height/900)
	}
	if end := js[float64](p, `document.querySelector("#times + .scroll").getBoundingClientRect().bottom`); end > 900 {
		t.Errorf("the table of times ends at %v, below the first screen", end)
	}
	if charts := js[int](p, `[...document.querySelectorAll(".main .chart")].filter((e) => e.getBoundingClientRect().bottom < 900).length`); charts != 3 {
		t.Errorf("%d charts on the first screen, want 3", charts)
	}
	if rows := js[int](p, `document.querySelectorAll("#unmatched + .scroll tbody tr").length`); rows != 1 {
		t.Errorf("unmatched requests take %d rows, want 1", rows)
	}
	p.reads("delivered p99: ")
	p.must(chromedp.EmulateViewport(390, 900))
	if narrow := js[[]string](p, `[...document.querySelectorAll(".setting > *")].filter((e) => e.offsetWidth < 100).map((e) => e.innerText)`); len(narrow) > 0 {
		t.Errorf("at 390 these parts of the environment have no room: %q", narrow)
	}
	p.must(chromedp.EmulateViewport(1120, 900))
	p.must(chromedp.Navigate(admin.URL + "/__admin/runs/compare?a=1&b=2&format=html"))
	p.says("h1", "before and after")
	p.until(`document.querySelectorAll(".main .chart").length === 3 && [...document.querySelectorAll(".main .chart")].every((e) => e.querySelector(".s1") && e.querySelector(".s2"))`)
	for _, wide := range js[[]string](p, tooWide) {
		t.Errorf("at 1120 the table %s is too wide", wide)
	}
	p.reads("B: ")
	for _, where := range []string{"/__admin/runs/1/report", "/__admin/runs/compare?a=1&b=2&format=html"} {
		p.must(chromedp.Navigate(admin.URL+where), chromedp.EmulateViewport(703, 1000)) // A4 with margins of 12 mm, at 96 dots an inch
		if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
			t.Fatal(err)
		}
		p.says("h1", "before")
		if over := js[int](p, "Math.max(...[...document.querySelectorAll('body *')].map((e) => e.getBoundingClientRect().right)) - innerWidth"); over > 0 {
			t.Errorf("%s: in print %d dots are cut off", where, over)
		}
	}
	p.clean()
}
