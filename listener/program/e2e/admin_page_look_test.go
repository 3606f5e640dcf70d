package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// spilled finds the texts matching a selector that do not fit into their boxes.
const spilled = `((selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText))`

// longNamed contains names that do not fit anywhere, and names that are not written from left to
// right.
const longNamed = paged + `
- endpoint: {method: GET, path: "/v1/customers/:customerId/accounts/:accountId/transactions/:transactionId/attachments/:attachmentId/versions/:versionNumber", response: {status: 200, body: ok}}
- endpoint: {method: GET, path: "/日本/🍣/:id", response: {status: 200, body: ok}}
- endpoint: {method: GET, path: "/مرحبا/:id", response: {status: 200, body: ok}}
`

func TestPage_AWallIsOneScreen(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, longNamed)
	mock.Get("/slow")
	for i := range 12 {
		mock.Get(fmt.Sprintf("/nowhere/%d/%s", i, strings.Repeat("long", 40)))
	}
	p := browse(t, admin, "?wall=on&theme=dark")
	p.says("#unmatched tbody tr", "/nowhere/")
	if got := js[string](p, "document.documentElement.dataset.theme"); got != "dark" {
		t.Errorf("the theme is %q, but the address sets it to dark", got)
	}
	for _, size := range [][2]int64{{1280, 720}, {1440, 900}, {1920, 1080}, {3840, 2160}} {
		p.must(chromedp.EmulateViewport(size[0], size[1]))
		for _, reasons := range []int{0, 1, 3, 8} { // up to the maximum number
			// In one step, since the page writes its own reasons every second.
			over := js[[]int](p, fmt.Sprintf(`(document.getElementById("verdict-reasons").replaceChildren(...Array.from({ length: %d }, () => {
				const line = document.createElement("li");
				for (const name of ["strong", "span", "small"]) line.append(document.createElement(name));
				line.children[1].textContent = "injection-p99: answers with a latency came 13.2 ms late at the 99th percentile; expected at most 1 ms";
				return line;
			})), [document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight])`, reasons))
			if over[0] > 0 || over[1] > 0 {
				t.Errorf("%v, %d reasons: the wall is larger than the screen, by %v", size, reasons, over)
			}
		}
		for _, text := range js[[]string](p, `document.getElementById("verdict-word").textContent = "trusted, idle"; `+spilled+`("#figures div, .figures div, #verdict-word, .chart figcaption")`) {
			t.Errorf("%v: %q does not fit", size, text)
		}
		for _, part := range []string{"#endpoints tbody tr:last-child", "#unmatched tbody tr:last-child", "#webhook-figures div:last-child"} {
			p.until(fmt.Sprintf("((e) => e.getBoundingClientRect().bottom <= e.closest('section').getBoundingClientRect().bottom)(document.querySelector(%s))", literal(part)))
		}
	}
	if got := js[string](p, `[...document.querySelectorAll("#endpoints th")].filter((e) => e.checkVisibility()).map((e) => e.textContent).join()`); strings.Contains(got, "Failed") || strings.Contains(got, "Own errors") || !strings.Contains(got, "p99") {
		t.Errorf("columns of endpoints on a wall: %s; want rates and times only", got)
	}
	p.click("#wall")
	p.until("location.search === '' && document.querySelector('nav').checkVisibility()")
	p.clean()
}

func TestPage_PathsAreLegible(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, longNamed)
	mock.Get("/%D9%85%D8%B5%D8%B1/%E6%97%A5%E6%9C%AC/%F0%9F%8D%A3/%20%3Cb%3E")
	mock.Get("/%E2%80%AEgpj.exe") // would reverse the text around it
	p := browse(t, admin, "#unmatched")
	p.says("#unmatched tbody th", "GET /مصر/日本/🍣/%20%3Cb%3E", "GET /%E2%80%AEgpj.exe")
	p.click("nav a[href='#endpoints']")
	p.says("#endpoints tbody th", "GET /日本/🍣/:id", "GET /مرحبا/:id")
	p.clean()
}

func TestPage_TheWayBack(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	mock.Get("/nowhere")
	p := browse(t, admin, "#runs")
	p.says("#runs", "No run has been started yet")
	p.click("nav a[href='#unmatched']")
	p.click("#unmatched .open")
	p.says("#detail[open]", "404")
	p.must(chromedp.Evaluate[chromedp.Void]("history.back()"))
	p.says("#runs", "No run has been started yet")
	if js[bool](p, "document.getElementById('detail').open") {
		t.Error("a request of the previous part covers the runs")
	}
	p.clean()
}

func TestPage_PausedStaysPaused(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged)
	p := browse(t, admin, "#endpoints")
	p.says("#endpoints", "GET /slow")
	p.click("#pause")
	p.says("#connection", "paused")
	for range 3 {
		mock.Get("/nowhere")
	}
	const figures = "document.getElementById('figures').innerText + document.getElementById('charts').innerText"
	before := js[string](p, figures)
	asked := "performance.getEntriesByType('resource').filter((e) => e.name.includes('/__admin/verdict')).length"
	n := js[int](p, asked)
	p.must(chromedp.Evaluate[chromedp.Void]("document.dispatchEvent(new Event('visibilitychange')), window.dispatchEvent(new Event('online'))"))
	p.click("nav a[href='#unmatched']")
	p.says("#unmatched tbody tr", "/nowhere") // a selected part is shown
	if after := js[string](p, figures); after != before || js[int](p, asked) != n {
		t.Errorf("paused, the figures went from\n%s\nto\n%s", before, after)
	}
	p.click("#pause")
	p.says("#connection", "live")
	p.until(asked + " > " + fmt.Sprint(n))
	p.clean()
}

// A browser that does not store data for sites throws an exception when a page tries to store some.
func TestPage_ABrowserThatKeepsNothing(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, paged, "--admin-token", "a-token-of-some-length")
	p := browse(t, admin, "#endpoints")
	block := `for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });`
	if _, err := chromedp.Call(p.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: block}); err != nil {
		t.Fatal(err)
	}
	p.must(chromedp.Navigate(admin.URL + "/#endpoints"))
	p.enter("#token-text", "a-token-of-some-length\r")
	mock.Get("/users/1")
	p.says("#endpoints", "GET /users/:id|int")
	p.click("#theme")
	p.says("#theme", "light")
	p.click("#theme")
	p.says("#theme", "dark")
	p.clean()
}

func TestPage_TheVerdictStaysInSight(t *testing.T) {
	t.Parallel()
	_, admin := Administered(t, paged)
	p := browse(t, admin, "#configuration")
	p.says("#configuration tbody", "--admin")
	p.must(chromedp.EmulateViewport(390, 700))
	p.must(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 1e6)"))
	p.says("#chip", "trusted")
	p.until("((a) => a.left >= 0 && a.right <= innerWidth)(document.querySelector('nav [aria-current]').getBoundingClientRect())") // with the next frame
	p.must(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)"))
	p.until("!document.getElementById('chip').checkVisibility({ visibilityProperty: true })")
	p.clean()
}

func TestReport_OnEveryScreen(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, longNamed, "--verdict", "own-p99=0ms")
	if got := admin.Do("POST", "/__admin/runs", `{"name": "`+strings.Repeat("name", 20)+`"}`); got.Status != 201 {
		t.Fatal(got)
	}
	mock.Get("/v1/customers/1/accounts/2/transactions/3/attachments/4/versions/5")
	mock.Get("/slow")
	mock.Get("/%D9%85%D8%B5%D8%B1/" + strings.Repeat("nowhere", 40))
	p := browse(t, admin, "__admin/runs/1/report")
	p.says("h1", "name")
	p.says("#unmatched ~ div", "/مصر/nowhere")
	for _, width := range []int64{320, 390, 768, 1120, 1440, 1920, 3840} {
		p.must(chromedp.EmulateViewport(width, 900))
		if over := js[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("the page overflows a window of %d by %d", width, over)
		}
		for _, found := range js[[]string](p, `[...document.querySelectorAll("svg.chart")].flatMap((svg) => {
			const ticks = [...svg.querySelectorAll(".tick")].map((e) => [e.textContent, e.getBoundingClientRect()]);
			const small = ticks.filter(([, r]) => r.height < 8.9).map(([text, r]) => text + " is " + r.height + " high");
			const under = ticks.filter(([text, r], i) => ticks.slice(i + 1).some(([, s]) => r.left < s.right && s.left < r.right && r.top + 4 < s.bottom && s.top + 4 < r.bottom)).map(([text]) => text + " is written over");
			return [...small, ...under].map((text) => svg.querySelector("title").textContent + ": " + text);
		})`) {
			t.Errorf("%d: %s", width, found)
		}
	}
	for _, width := range []int64{1120, 1440, 1920} {
		p.must(chromedp.EmulateViewport(width, 900))
		for _, wide := range js[[]string](p, tooWide) {
			t.Errorf("%d: the table %s is too wide", width, wide)
		}
		// Every digit of the hash is readable, in one line, and words are not broken.
		if lines := js[float64](p, `((e) => e.getClientRects().length * e.offsetHeight / parseFloat(getComputedStyle(e).fontSize))([...document.querySelectorAll("dl.pairs dd")].find((e) => /^[0-9a-f]{64}$/.test(e.textContent)))`); lines > 2 {
			t.Errorf("%d: the hash takes %v times the height of its letters", width, lines)
		}
		if names := js[string](p, `document.querySelector("#endpoints + .scroll tbody th").innerHTML`); !strings.Contains(names, "/<wbr>") {
			t.Errorf("an endpoint is %s, want a possible line break after each slash", names)
		}
	}
	p.must(chromedp.Evaluate[chromedp.Void]("for (const e of document.querySelectorAll('details')) e.open = true"))
	p.says("figcaption", "Own time by percentile", "Injected latency by percentile")
	for _, width := range []int64{320, 1120} {
		p.must(chromedp.EmulateViewport(width, 900))
		if over := js[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("with everything unfolded the page overflows a window of %d by %d", width, over)
		}
	}
	p.says("dt", "version")
	for _, scheme := range []string{"light", "dark"} {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
			t.Fatal(err)
		}
		for _, found := range js[[]string](p, contrasts) {
			t.Errorf("%s: %s", scheme, found)
		}
	}
	p.clean()
}

// tooWide finds tables that do not fit into the boxes that contain them.
const tooWide = `[...document.querySelectorAll(".scroll")].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText.slice(0, 40))`

func TestPage_RunsComeFirstAndStandInTheHeadOfEveryPart(t *testing.T) {
	t.Parallel()
	_, admin := Administered(t, paged, "--verdict", "probe-p99=off,echo-p99=off") // the machine may be busy with other tests
	p := browse(t, admin, "")
	p.says("#runs", "No run has been started yet")
	p.says("#run-now", "no run yet")
	if first := js[string](p, "document.querySelector('nav a').hash + document.querySelector('.part').id"); first != "#runsruns" {
		t.Errorf("%q comes first", first)
	}
	everywhere := func(want ...string) {
		t.Helper()
		for _, part := range []string{"runs", "endpoints", "unmatched", "webhooks", "journal", "configuration"} {
			p.must(chromedp.Evaluate[chromedp.Void]("location.hash = '#" + part + "'"))
			p.until("document.getElementById('" + part + "').checkVisibility()")
			p.says("#run-now", want...)
		}
	}
	for _, wanted := range [][]string{{"running", "first run", "started "}, {"ended", "first run", " to "}} {
		path := "/__admin/runs"
		if wanted[0] == "ended" {
			path += "/1/stop"
		}
		if got := admin.Do("POST", path, `{"name": "first run"}`); got.Status >= 300 {
			t.Fatal(got)
		}
		everywhere(wanted...)
	}
	p.must(chromedp.EmulateViewport(390, 800))
	p.must(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 1e6)"))
	p.until("((r) => r.top >= 0 && r.bottom <= innerHeight)(document.getElementById('run-now').getBoundingClientRect())")
	p.says("#run-now", "nothing timed")
	p.clean()
}

// verdicts makes the page receive the verdict in window.verdict.
const verdicts = `{
	const real = window.fetch;
	window.fetch = (path, options) => path === "/__admin/verdict" ? Promise.resolve(new Response(window.verdict)) : real(path, options);
	const reasons = ["throttled", "steal", "descriptors", "accept", "backlog", "probe-p99", "echo-p99", "own-p99", "injection-p99", "lag-p99", "webhooks-refused", "cpu-quota", "machine", "cpu-wait", "scheduler-p99", "gc-pause"].map((code) => (
		{ code, text: "answers with a latency came 13.2 ms late at the 99th percentile; expected at most 1 ms", since: new Date().toISOString() }));
	window.tell = (word, n, unknown) => { window.verdict = JSON.stringify({ trusted: n === 0, idle: word.includes("idle"), reasons: reasons.slice(0, n), explanations: [], size: "", unknown, seconds: 10 }); window.dispatchEvent(new Event("online")); };
	window.tell("trusted, idle", 0, []);
}`

// places returns the positions of all elements that do not belong to the verdict.
const places = `JSON.stringify([...document.querySelectorAll("#verdict, #verdict h2, #now, #figures > div, figure, .chart, nav, nav a, #run-now, .part")].filter((e) => e.checkVisibility()).map((e) => {
	const r = e.getBoundingClientRect();
	return [e.id || e.hash || e.className, Math.round(r.left), Math.round(r.top + scrollY), Math.round(r.width), e.matches(".part") ? 0 : Math.round(r.height)];
}))`

// cutLines finds the lines of the reasons of which only a part is in sight.
const cutLines = `(() => {
	const box = document.getElementById("verdict-reasons"), frame = box.getBoundingClientRect(), words = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), text = document.createRange(), lines = [];
	while (words.nextNode()) {
		text.selectNode(words.currentNode);
		lines.push(...text.getClientRects());
	}
	return lines.filter((r) => r.top < frame.bottom - 2 && r.bottom > frame.bottom + 4).map((r) => r.top + " to " + r.bottom + " in " + frame.top + " to " + frame.bottom);
})()`

func TestPage_TheVerdictMovesNothing(t *testing.T) {
	t.Parallel()
	_, admin := Administered(t, paged)
	p := browse(t, admin, "")
	p.says("#runs", "No run has been started yet")
	p.must(chromedp.Evaluate[chromedp.Void](verdicts))
	p.says("#figures", "CPU, of")
	for _, wall := range []bool{false, true} {
		for _, width := range []int64{390, 1120, 1440, 1920} {
			p.must(chromedp.EmulateViewport(width, 900))
			p.must(chromedp.Evaluate[chromedp.Void]("window.tell('trusted, idle', 0, [])"))
			p.says("#verdict-word", "trusted, idle")
			before := js[string](p, places)
			for _, c := range []struct {
				word    string
				reasons int
				unknown string
			}{{"trusted", 0, "[]"}, {"trusted", 0, "['steal', 'throttled', 'cpu-wait']"}, {"not trusted", 1, "[]"}, {"not trusted", 15, "['steal']"}} {
				p.must(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("window.tell(%s, %d, %s)", literal(c.word), c.reasons, c.unknown)))
				p.until(fmt.Sprintf("document.getElementById('verdict-word').innerText === %s && document.querySelectorAll('#verdict-reasons li').length === %d + (%s.length > 0)", literal(c.word), c.reasons, c.unknown))
				if text := js[string](p, "document.getElementById('verdict-reasons').textContent"); c.reasons > 0 && !strings.Contains(text, "13.2\u00a0ms late") {
					t.Errorf("a line may break between a number and its unit: %q", text)
				}
				if cut := js[[]string](p, cutLines); len(cut) > 0 {
					t.Errorf("%d, wall %v: with %d reasons a line is cut: %q", width, wall, c.reasons, cut)
				}
				if after := js[string](p, places); after != before {
					t.Errorf("%d, wall %v: %s with %d reasons moves\n%s\nto\n%s", width, wall, c.word, c.reasons, before, after)
				}
			}
		}
		if !wall {
			p.must(chromedp.EmulateViewport(1440, 900))
			p.click("#wall")
			p.until(`document.querySelectorAll("#endpoints tbody tr").length === 3`) // they are fetched now
		}
	}
	p.clean()
}

func TestPage_TablesFitOrScrollWithTheirHead(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(longNamed)
	for i := range 200 {
		fmt.Fprintf(&text, "- endpoint: {method: GET, path: \"/things/%d/parts/:part\", response: {status: 200, body: ok}}\n", i)
	}
	text.WriteString(`- endpoint: {method: POST, path: /hooked, response: {status: 503, body: "{}"}, webhook: {on: any, sleep-time: 3600, method: POST, url: "http://127.0.0.1:9/a/very/long/path/that/does/not/fit/on/a/narrow/screen/of/a/phone", body: "{}"}}` + "\n")
	mock, admin := Administered(t, text.String(), "--journal-sample", "1")
	if got := admin.Do("POST", "/__admin/runs", `{"name": "`+strings.Repeat("name ", 15)+`"}`); got.Status != 201 {
		t.Fatal(got)
	}
	mock.Do("POST", "/hooked", "")
	mock.Get("/v1/customers/1/accounts/2/transactions/3/attachments/4/versions/5")
	mock.Get("/" + strings.Repeat("nowhere/", 40))
	p := browse(t, admin, "")
	for _, part := range []string{"runs", "unmatched", "webhooks", "journal", "configuration", "endpoints"} {
		p.must(chromedp.Evaluate[chromedp.Void]("location.hash = '#" + part + "'"))
		p.until("document.querySelector('#" + part + " tbody tr')?.checkVisibility()")
		for _, width := range []int64{1120, 1440, 1920} {
			p.must(chromedp.EmulateViewport(width, 900))
			for _, wide := range js[[]string](p, tooWide) {
				t.Errorf("%s: in a window of %d the table %s is too wide", part, width, wide)
			}
		}
	}
	// The header of a long table stays below the navigation bar.
	p.must(chromedp.Evaluate[chromedp.Void]("document.querySelector('#endpoints tbody tr:nth-child(30)').scrollIntoView({ block: 'center' })"))
	p.until("((head, nav) => Math.abs(head.top - nav.bottom) < 2)(document.querySelector('#endpoints thead th').getBoundingClientRect(), document.querySelector('nav').getBoundingClientRect())")
	// On a phone the header scrolls with the columns, and the first column stays.
	p.must(chromedp.EmulateViewport(390, 800))
	p.must(chromedp.Evaluate[chromedp.Void]("document.querySelector('#endpoints .scroll').scrollTo(170, 400)"))
	got := js[map[string]float64](p, `((box) => {
		const at = (selector) => box.querySelector(selector).getBoundingClientRect();
		const frame = box.getBoundingClientRect();
		return {
			moved: box.scrollLeft, down: box.scrollTop, top: at("thead th").top - frame.top, left: at("tbody tr:nth-child(20) th").left - frame.left,
			column: at("thead th:nth-child(5)").right - at("tbody tr:nth-child(20) td:nth-child(5)").right,
		};
	})(document.querySelector("#endpoints .scroll"))`)
	for name, want := range map[string]float64{"moved": 170, "down": 400, "top": 1, "left": 1, "column": 0} {
		if got[name] < want-1 || got[name] > want+1 {
			t.Errorf("on a phone %s is %v, want %v", name, got[name], want)
		}
	}
	p.clean()
}

func TestPage_DeclaredErrorsAreNoAlarm(t *testing.T) {
	t.Parallel()
	mock, admin := Administered(t, `
- endpoint: {path: /declared, response: {status: 503, body: down}}
- endpoint: {path: /own, response: {external-body: {provider: json, path: "http://`+Free(t)+`/"}}}
`)
	for range 3 {
		mock.Get("/declared")
	}
	mock.Get("/own")
	p := browse(t, admin, "#endpoints")
	const row = `[...document.querySelectorAll("#endpoints tbody tr")].some((r) => r.cells[0].innerText.includes(%s) && r.querySelector("td.at-own-errors").innerText === %s && r.querySelector("td.at-failed").innerText === %s && r.matches(".broken") === %v)`
	p.until(fmt.Sprintf(row, literal("/declared"), `"0"`, `"3"`, false))
	p.until(fmt.Sprintf(row, literal("/own"), `"1"`, `"1"`, true))
	p.says("#figures", "failed", "injected errors/s", "own errors/s", "declared errors/s")
	p.clean()
}
