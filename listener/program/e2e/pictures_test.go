//go:build measure

// The pictures in docs/img: make pictures.

package e2e_test

import (
	"bytes"
	"cmp"
	imaging "image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mockserver/internal/harness"
)

// The live page and the report of a minute of load on the payment stand-in of the README.
func TestPictures(t *testing.T) {
	if !pageTestsAreDue(os.Getenv) {
		t.Skip("make pictures makes the pictures in docs/img")
	}
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer hook.Close()
	blocks := blocksOf(t, "README.md")
	i := slices.IndexFunc(blocks, func(b block) bool { return strings.Contains(b.before, "Write `payments.yml`") })
	if i < 0 {
		t.Fatal("the README has no payments.yml")
	}
	text := strings.Replace(strings.Join(blocks[i].lines, "\n"), "http://localhost:3000/hooks", hook.URL, 1)
	p := LaunchIn(t, t.TempDir(), nil, "-c", harness.WriteFile(t, t.TempDir(), "payments.yml", text), "--port", "0", "--admin", "127.0.0.1:0").Listening()
	admin := AdminOf(p)
	var run struct{ ID string }
	admin.Do("POST", "/__admin/runs", `{"name": "payments, 200 a second", "settle": "10s", "schedule": {"rate": 200}}`, "Content-Type: application/json").Into(t, 201, &run)
	page := browse(t, admin, "?theme=light")
	pay(t, p, 200, time.Minute)
	page.must(chromedp.EmulateViewport(1200, 860))
	page.save("page.png")
	var report struct{ Final bool }
	admin.Do("POST", "/__admin/runs/"+run.ID+"/stop", "").Into(t, 200, &report)
	harness.Until(t, "the report is final", func() bool {
		admin.Get("/__admin/runs/"+run.ID).Into(t, 200, &report)
		return report.Final
	})
	page.must(chromedp.EmulateViewport(1100, 1000), chromedp.Navigate(admin.URL+"/__admin/runs/"+run.ID+"/report"))
	page.save("report.png")
}

// pay sends payments at a constant rate.
func pay(t *testing.T, p *Process, rate int, length time.Duration) {
	var all sync.WaitGroup
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: rate}}
	defer client.CloseIdleConnections()
	due := time.NewTicker(time.Second / time.Duration(rate))
	defer due.Stop()
	for range int(length.Seconds()) * rate {
		<-due.C
		all.Go(func() {
			resp, err := client.Post(p.URL+"/payments", "application/json", strings.NewReader(`{"amount": 1250}`))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	all.Wait()
}

// save writes a picture of the window to docs/img, in its 256 most frequent colors.
func (p *page) save(name string) {
	p.t.Helper()
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	from, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		p.t.Fatal(err)
	}
	count := map[color.Color]int{}
	for y := range from.Bounds().Dy() {
		for x := range from.Bounds().Dx() {
			count[from.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	to := imaging.NewPaletted(from.Bounds(), colors[:min(len(colors), 256)])
	draw.Draw(to, to.Bounds(), from, imaging.Point{}, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(File("docs/img/"+name), b.Bytes(), 0o644); err != nil {
		p.t.Fatal(err)
	}
}
