package settings

import (
	"strings"
	"testing"
)

func TestSettings_GivenAreShownWithoutSecrets(t *testing.T) {
	env := map[string]string{"MOCKSERVER_ADMIN_TOKEN": "hidden-1", "PORT": "81", "MOCKSERVER_GRACE": ""}
	s, err := Read([]string{"-c", "a.yml", "--config=b.yml", "--sentry-dsn", "https://hidden-2@h/1", "--no-cors", "--mocks", "https://ann:hidden-4@h/m.yml"}, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Given{}
	for _, g := range s.Given() {
		got[g.Flag] = g
		if strings.Contains(g.Value, "hidden") {
			t.Errorf("%s shows %q", g.Flag, g.Value)
		}
	}
	for _, want := range []Given{
		{"--config", "CONFIG", "a.yml, b.yml", false},
		{"--port", "PORT", "81", false},
		{"--host", "HOST", "0.0.0.0", true},
		{"--no-cors", "MOCKSERVER_NO_CORS", "true", false},
		{"--access-log", "MOCKSERVER_ACCESS_LOG", "false", true},
		{"--grace", "MOCKSERVER_GRACE", "10s", true},
		{"--admin-token", "MOCKSERVER_ADMIN_TOKEN", "(not shown)", false},
		{"--sentry-dsn", "SENTRY_DSN", "(not shown)", false},
		{"--mocks", "MOCKS", "https://xxxxx@h/m.yml", false},
	} {
		if got[want.Flag] != want {
			t.Errorf("got %+v, want %+v", got[want.Flag], want)
		}
	}
	if _, there := got["--help"]; there {
		t.Error("--help is shown, which is a command")
	}
}

func TestSettings_AddressesAndTokens(t *testing.T) {
	for text, fine := range map[string]bool{
		"127.0.0.1:8001": true, ":8001": true, "[::1]:0": true, "localhost:1": true, "0.0.0.0:65535": true,
		"": false, "8001": false, "127.0.0.1": false, "127.0.0.1:": false, "127.0.0.1:65536": false, "127.0.0.1:-1": false,
		"http://127.0.0.1:8001": false, "::1:8001": false, "a b:1": false, "*:1": false, "??": false, "h:http": false,
	} {
		_, err := Read([]string{"--admin=" + text}, func(string) string { return "" })
		if (err == nil) != fine {
			t.Errorf("--admin=%s: %v", text, err)
		}
	}
	for text, fine := range map[string]bool{"": false, "x": true, "A-Za~!\"": true, "a b": false, "\x7f": false, "a\n": false, "é": false} {
		_, err := Read([]string{"--admin-token=" + text}, func(string) string { return "" })
		if (err == nil) != fine || err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("--admin-token=%q: %v", text, err)
		}
	}
}
