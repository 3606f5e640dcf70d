package admin

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"mockserver/config"
)

// A scrape gets the same histograms in the format that it accepts.
func TestExposition_Formats(t *testing.T) {
	a := counting(t, config.Endpoint{Path: "/a"})
	resp, err := http.Get(a.server.URL() + "/a")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	handler := a.exposition()
	for accept, text := range map[string]bool{
		"": true, "text/plain": true, "application/openmetrics-text; version=1.0.0": true,
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": false,
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if text {
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
				found = len(h.GetBucket()) > 0 && h.GetSampleCount() == 1
			}
		}
		if !found {
			t.Error("there is no histogram in protobuf")
		}
	}
}
