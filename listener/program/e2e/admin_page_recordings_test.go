package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"mockserver/internal/harness"
)

// downloaded returns the file that the browser saves when open is called.
func (p *page) downloaded(open func()) (name, text string) {
	p.t.Helper()
	dir := p.t.TempDir()
	if _, err := chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
	}); err != nil {
		p.t.Fatal(err)
	}
	open()
	harness.Until(p.t, "the browser keeps a file", func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "[^.]*")) // the names of incomplete files begin with a dot
		if err != nil || len(files) != 1 || strings.HasSuffix(files[0], ".crdownload") {
			return false
		}
		b, err := os.ReadFile(files[0])
		name, text = filepath.Base(files[0]), string(b)
		return err == nil && len(b) > 0
	})
	return name, text
}

// A recording is started, shown and stopped on the page, and downloaded as a configuration and as
// HAR, with a token and without one.
func TestPage_RecordsAnUpstream(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // it records into its working directory
	for name, args := range map[string][]string{"without a token": nil, "with a token": {"--admin-token", "a-token-of-some-length"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"path": "` + r.URL.Path + `"}`))
			}))
			t.Cleanup(real.Close)
			mock, admin := Administered(t, `
- upstream: {name: real, url: "`+real.URL+`"}
- endpoint: {method: any, path: /*rest, response: {proxy: real}}
`, args...)
			p := browse(t, admin, "#recordings")
			if args != nil {
				p.enter("#token-text", args[1]+"\r")
			}
			p.says("#recordings", "Nothing has been recorded yet")
			p.enter("#recording-to", "recordings/first\r")
			p.says("#recordings tbody", "real", "recordings/first", "running")
			for range 25 {
				mock.Get("/orders").Want(t, 200, `{"path": "/orders"}`)
			}
			p.until(`document.querySelector("#recordings tbody tr").innerText.includes("200: 25")`)
			p.click(`#recordings [aria-label="Stop the recording of real"]`)
			p.says("#recordings tbody", "ended")
			p.until(`!document.querySelector("#recordings .danger").checkVisibility()`)

			file, text := p.downloaded(func() { p.click(`#recordings [aria-label="Configuration of the recording of real"]`) })
			if !strings.HasSuffix(file, ".yml") || !containsAll(text, []string{"path: /orders", "p50"}) {
				t.Errorf("%s has\n%s", file, text)
			}
			made := Serving(t, text)
			made.Get("/orders").Want(t, 200, `{"path": "/orders"}`)
			file, text = p.downloaded(func() { p.click(`#recordings [aria-label="HAR of the recording of real"]`) })
			if !strings.HasSuffix(file, ".har") || strings.Count(text, `/orders"`) < 25 || !strings.Contains(text, `"version"`) {
				t.Errorf("%s has\n%.2000s", file, text)
			}
			p.clean()
		})
	}
}
