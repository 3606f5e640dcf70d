package traffic

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"mockserver/listener/memory/shared"
)

func TestServers_AreParsed(t *testing.T) {
	at, err := shared.Parse("tls://ann:pw@a.test:4222,[::1]:4223?stream=S-1&replicas=1&timeout=5s&creds=c&ca=f&cert=g&key=h")
	want := shared.Location{
		URLs: []string{"tls://ann:pw@a.test:4222", "tls://ann:pw@[::1]:4223"}, Creds: "c", CA: "f", Cert: "g", Key: "h",
		Stream: "S-1", Replicas: 1, Timeout: 5 * time.Second,
	}
	if err != nil || !reflect.DeepEqual(at, want) {
		t.Errorf("got %+v, %v", at, err)
	}
	if text := at.String(); text != "tls://a.test:4222,[::1]:4223?stream=S-1" {
		t.Errorf("it is shown as %s", text)
	}
	if at, err := shared.Parse("nats://a"); err != nil || at.Stream != "MOCK_STATE" || at.Timeout != 20*time.Millisecond || at.URLs[0] != "nats://a" {
		t.Errorf("by default %+v, %v", at, err)
	}
	for text, want := range map[string]string{
		"nats://":                           `"" is not a server`,
		"nats://a,,b":                       `"" is not a server`,
		"nats://a/b":                        `"a/b" is not a server`,
		"nats://a:x":                        `"a:x" is not a server`,
		"nats://a:70000":                    "invalid port",
		"nats://u:%zz@a":                    "user or password",
		"nats://hid:hidden?@a":              "more than one @, or one after",
		"nats://hid:hidden/@a":              "more than one @, or one after",
		"nats://hid:hidden#@a":              "more than one @, or one after",
		"nats://u:p@a,hid:hidden@b":         "more than one @, or one after",
		"nats://a?creds=hidden@b":           "more than one @, or one after",
		"nats://a?stream=a.b":               `"a.b" is not valid for stream of the shared state; expected up to 64 letters`,
		"nats://a?replicas=2":               "1, 3 or 5",
		"nats://a?timeout=1h":               "a duration above 0 of at most 10s",
		"nats://a?ca=":                      "a file name",
		"nats://a?cert=c":                   "only one of cert and key",
		"nats://a?streem=x":                 `unknown parameter "streem"`,
		"nats://a?a=%zz":                    "parameters of the shared state are not valid",
		"nats://hidden:hidden@a:x?stream=S": "not a server",
	} {
		if _, err := shared.Parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
