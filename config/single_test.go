package config

import (
	"strings"
	"testing"
)

func TestParse_ASingleEndpointMayStandAlone(t *testing.T) {
	for name, text := range map[string]string{
		"a.yml":  "endpoint:\n  path: /a\n  response: {status: 299}\n",
		"b.json": "{\"endpoint\":\n  {\"path\": \"/a\", \"response\": {\"status\": 299}}}",
		"c.edn":  "{:endpoint {:path \"/a\" :response {:status 299}}}",
		"d.yml":  "- endpoint: {path: /a, response: {status: 299}}\n",
	} {
		spec := Loader{Single: true}.Parse(name, []byte(text))
		if len(spec.Problems) > 0 || len(spec.Endpoints) != 1 || spec.Endpoints[0].Response.Status != 299 {
			t.Errorf("%s: %v, %+v", name, spec.Problems, spec.Endpoints)
		}
		wrong := Loader{Single: true}.Parse(name, []byte(strings.Replace(text, "299", "999", 1)))
		if err := wrong.Problems.Err(); err == nil || !strings.Contains(err.Error(), "[0].endpoint.response.status") || !strings.HasPrefix(err.Error(), name+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"a.yml": "endpoint: {path: /a, response: {}}\n",
		"b.yml": "{endpoint: {path: /a, response: {}}, websocket: {path: /w}}\n",
		"c.yml": "endpoints: []\n",
	} {
		if spec := (Loader{Single: name != "a.yml"}).Parse(name, []byte(text)); spec.Problems.Err() == nil {
			t.Errorf("%s: %q is accepted", name, text)
		}
	}
}
