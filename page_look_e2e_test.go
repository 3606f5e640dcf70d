package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// spilled finds texts that do not fit into their boxes, of those a selector picks.
const spilled = `((selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText))`

// longNamed has what does not fit anywhere, and what is not written from left to right.
const longNamed = paged + `
- endpoint: {method: GET, path: "/v1/customers/:customerId/accounts/:accountId/transactions/:transactionId/attachments/:attachmentId/versions/:versionNumber", response: {status: 200, body: ok}}
- endpoint: {method: GET, path: "/日本/🍣/:id", response: {status: 200, body: ok}}
- endpoint: {method: GET, path: "/مرحبا/:id", response: {status: 200, body: ok}}
`

func TestPage_AWallIsOneScreen(t *testing.T) {
	t.Parallel()
	mock, admin := administered(t, longNamed)
	mock.get("/slow")
	for i := range 12 {
		mock.get(fmt.Sprintf("/nowhere/%d/%s", i, strings.Repeat("long", 40)))
	}
	p := browse(t, admin, "?wall=on&theme=dark")
	p.says("#unmatched tbody tr", "/nowhere/")
	if got := js[string](p, "document.documentElement.dataset.theme"); got != "dark" {
		t.Errorf("the theme is %q, which the address says is dark", got)
	}
	for _, size := range [][2]int64{{1280, 720}, {1440, 900}, {1920, 1080}, {3840, 2160}} {
		p.must(chromedp.EmulateViewport(size[0], size[1]))
		for _, reasons := range []int{0, 1, 3, 8} { // as many as there may be
			// At once: the page writes its own ones each second.
			over := js[[]int](p, fmt.Sprintf(`(document.getElementById("verdict-reasons").replaceChildren(...Array.from({ length: %d }, () => {
				const line = document.createElement("li");
				for (const name of ["strong", "span", "small"]) line.append(document.createElement(name));
				line.children[1].textContent = "injection-p99: answers with a latency came 13.2 ms late at the 99th percentile; 1 ms is accepted";
				return line;
			})), [document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight])`, reasons))
			if over[0] > 0 || over[1] > 0 {
				t.Errorf("%v, %d reasons: the wall is larger than the screen, by %v", size, reasons, over)
			}
		}
		for _, text := range js[[]string](p, spilled+`("#figures div, .figures div, #verdict-word, .chart figcaption")`) {
			t.Errorf("%v: %q does not fit", size, text)
		}
		for _, part := range []string{"#endpoints tbody tr:last-child", "#unmatched tbody tr:last-child", "#webhook-figures div:last-child"} {
			p.until(fmt.Sprintf("((e) => e.getBoundingClientRect().bottom <= e.closest('section').getBoundingClientRect().bottom)(document.querySelector(%s))", literal(part)))
		}
	}
	p.click("#wall")
	p.until("location.search === '' && document.querySelector('nav').checkVisibility()")
	p.clean()
}

func TestPage_PathsAreLegible(t *testing.T) {
	t.Parallel()
	mock, admin := administered(t, longNamed)
	mock.get("/%D9%85%D8%B5%D8%B1/%E6%97%A5%E6%9C%AC/%F0%9F%8D%A3/%20%3Cb%3E")
	mock.get("/%E2%80%AEgpj.exe") // would turn what is around it
	p := browse(t, admin, "#unmatched")
	p.says("#unmatched tbody th", "GET /مصر/日本/🍣/%20%3Cb%3E", "GET /%E2%80%AEgpj.exe")
	p.click("nav a[href='#endpoints']")
	p.says("#endpoints tbody th", "GET /日本/🍣/:id", "GET /مرحبا/:id")
	p.clean()
}

func TestPage_TheWayBack(t *testing.T) {
	t.Parallel()
	mock, admin := administered(t, paged)
	mock.get("/nowhere")
	p := browse(t, admin, "#runs")
	p.says("#runs", "No run was started yet")
	p.click("nav a[href='#unmatched']")
	p.click("#unmatched .open")
	p.says("#detail[open]", "404")
	p.must(chromedp.Evaluate[chromedp.Void]("history.back()"))
	p.says("#runs", "No run was started yet")
	if js[bool](p, "document.getElementById('detail').open") {
		t.Error("a request of the part before lies over the runs")
	}
	p.clean()
}

func TestPage_PausedStaysPaused(t *testing.T) {
	t.Parallel()
	mock, admin := administered(t, paged)
	p := browse(t, admin, "")
	p.says("#endpoints", "GET /slow")
	p.click("#pause")
	p.says("#connection", "paused")
	for range 3 {
		mock.get("/nowhere")
	}
	const figures = "document.getElementById('figures').innerText + document.getElementById('charts').innerText"
	before := js[string](p, figures)
	asked := "performance.getEntriesByType('resource').filter((e) => e.name.includes('/__admin/verdict')).length"
	n := js[int](p, asked)
	p.must(chromedp.Evaluate[chromedp.Void]("document.dispatchEvent(new Event('visibilitychange')), window.dispatchEvent(new Event('online'))"))
	p.click("nav a[href='#unmatched']")
	p.says("#unmatched tbody tr", "/nowhere") // a part that is turned to is shown
	if after := js[string](p, figures); after != before || js[int](p, asked) != n {
		t.Errorf("paused, the figures went from\n%s\nto\n%s", before, after)
	}
	p.click("#pause")
	p.says("#connection", "live")
	p.until(asked + " > " + fmt.Sprint(n))
	p.clean()
}

// A browser that keeps nothing for sites throws where it is asked to.
func TestPage_ABrowserThatKeepsNothing(t *testing.T) {
	t.Parallel()
	mock, admin := administered(t, paged, "--admin-token", "a-token-of-some-length")
	p := browse(t, admin, "")
	block := `for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });`
	if _, err := chromedp.Call(p.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: block}); err != nil {
		t.Fatal(err)
	}
	p.must(chromedp.Navigate(admin.url + "/"))
	p.enter("#token-text", "a-token-of-some-length\r")
	mock.get("/users/1")
	p.says("#endpoints", "GET /users/:id|int")
	p.click("#theme")
	p.says("#theme", "light")
	p.click("#theme")
	p.says("#theme", "dark")
	p.clean("401")
}

func TestPage_TheVerdictStaysInSight(t *testing.T) {
	t.Parallel()
	_, admin := administered(t, paged)
	p := browse(t, admin, "#configuration")
	p.says("#configuration tbody", "--admin")
	p.must(chromedp.EmulateViewport(390, 700))
	p.must(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 1e6)"))
	p.says("#chip", "trusted")
	if off := js[float64](p, "((a) => Math.max(0, -a.left, a.right - innerWidth))(document.querySelector('nav [aria-current]').getBoundingClientRect())"); off > 0 {
		t.Errorf("the link of the part that is shown is out of sight by %v", off)
	}
	p.must(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)"))
	p.until("!document.getElementById('chip').checkVisibility()")
	p.clean()
}

func TestReport_OnEveryScreen(t *testing.T) {
	t.Parallel()
	mock, admin := administered(t, longNamed, "--verdict", "own-p99=0ms")
	if got := admin.do("POST", "/__admin/runs", `{"name": "`+strings.Repeat("name", 20)+`"}`); got.status != 201 {
		t.Fatal(got)
	}
	mock.get("/v1/customers/1/accounts/2/transactions/3/attachments/4/versions/5")
	mock.get("/slow")
	mock.get("/%D9%85%D8%B5%D8%B1/" + strings.Repeat("nowhere", 40))
	p := browse(t, admin, "__admin/runs/1/report")
	p.says("h1", "name")
	p.says("#unmatched ~ div", "/مصر/nowhere")
	for _, width := range []int64{320, 390, 768, 1440, 3840} {
		p.must(chromedp.EmulateViewport(width, 900))
		if over := js[int](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("a window of %d is too narrow by %d", width, over)
		}
		for _, found := range js[[]string](p, `[...document.querySelectorAll("svg.chart")].flatMap((svg) => {
			const ticks = [...svg.querySelectorAll(".tick")].map((e) => [e.textContent, e.getBoundingClientRect()]);
			const small = ticks.filter(([, r]) => r.height < 9).map(([text, r]) => text + " is " + r.height + " high");
			const under = ticks.filter(([text, r], i) => ticks.slice(i + 1).some(([, s]) => r.left < s.right && s.left < r.right && r.top + 4 < s.bottom && s.top + 4 < r.bottom)).map(([text]) => text + " is written over");
			return [...small, ...under].map((text) => svg.querySelector("title").textContent + ": " + text);
		})`) {
			t.Errorf("%d: %s", width, found)
		}
	}
	p.must(chromedp.EmulateViewport(1440, 900))
	if right := js[float64](p, `document.querySelector("#endpoints + .scroll thead").lastElementChild.children[6].getBoundingClientRect().right`); right > 1440 {
		t.Errorf("the p99 of endpoints stands at %v, out of sight", right)
	}
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
