package admin

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"mockserver/config"
	"mockserver/internal/harness"
)

// Each bucket of a native histogram contains the durations between its lower bound and 1.09 times
// that bound.
func TestNative_BucketsHaveTheDurations(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 127, 128, time.Microsecond, 999 * time.Microsecond, time.Millisecond, 250 * time.Millisecond, time.Second, time.Hour} {
		l := harness.Histogram(d, d)
		out := make(chan prometheus.Metric, 1)
		(&output{to: out, native: true}).histogram(webhookLag, l, lagBuckets)
		var m dto.Metric
		if err := (<-out).Write(&m); err != nil {
			t.Fatal(err)
		}
		h := m.Histogram
		if h.GetSchema() != 3 || h.GetSampleCount() != 2 || len(h.GetBucket()) != len(lagBuckets) {
			t.Errorf("%v: %v", d, h)
		}
		if d == 0 {
			if h.GetZeroCount() != 2 || len(h.GetPositiveDelta()) > 0 {
				t.Errorf("0: %v", h)
			}
			continue
		}
		if len(h.PositiveSpan) != 1 || h.PositiveSpan[0].GetLength() != 1 || h.PositiveDelta[0] != 2 {
			t.Fatalf("%v: %v", d, h)
		}
		end := math.Exp2(float64(h.PositiveSpan[0].GetOffset()) / 8) // the upper bound of the bucket, in seconds
		if s := d.Seconds(); s > end*1.004 || s < end/math.Exp2(1.0/8)/1.004 {
			t.Errorf("%v is in the bucket from %v to %v", s, end/math.Exp2(1.0/8), end)
		}
	}
}

func TestNative_OnlyInProtobuf(t *testing.T) {
	a := counting(t, config.Endpoint{Path: "/a"})
	resp, err := http.Get(a.server.URL() + "/a")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	handler := a.exposition()
	for accept, native := range map[string]bool{
		"": false, "text/plain": false, "application/openmetrics-text; version=1.0.0": false,
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": true,
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if !native {
			want := fmt.Sprintf("mockserver_config_fingerprint{fingerprint=%q} 1", a.server.Spec().Fingerprint())
			if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, `mockserver_service_seconds_bucket{`) || !strings.Contains(body, want) {
				t.Errorf("%q: %d %.500s", accept, w.Code, body)
			}
			continue
		}
		found := false
		decoder := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header()))
		for {
			var family dto.MetricFamily
			if err := decoder.Decode(&family); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if h := family.GetMetric()[0].GetHistogram(); family.GetName() == "mockserver_service_seconds" {
				found = len(h.GetBucket()) > 0 && h.GetSampleCount() == 1 && len(h.GetPositiveDelta()) == 1
			}
		}
		if !found {
			t.Error("there is no histogram of both kinds in protobuf")
		}
	}
}
