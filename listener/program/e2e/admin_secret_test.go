package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// secretive declares, wherever a secret can stand, one that contains the word hunter.
const secretive = `
- endpoint: {method: POST, path: /a, body: {password: hunter1, n: 1}, if: "header-params.authorization = 'Bearer hunter2'", response: {body: one},
    webhook: {method: POST, url: "http://ann:hunter3@127.0.0.1:1/x?api_key=hunter4&n=1", sleep-time: 1h, if: "cookie-params.sid != 'hunter5'",
      headers: {Authorization: Bearer hunter6, X-Api-Key: [hunter7, hunter8]}, body: {client_secret: hunter9, n: 1}, sign: {secret: hunter10}}}
- endpoint: {method: POST, path: /a, if: "header-params.authorization = 'Bearer hunter11' and method = POST", response: {body: two}}
- endpoint: {method: POST, path: /a, if: "header-params.authorization = 'Bearer hunter12' and method = POST", response: {body: three}}
- endpoint: {path: /b, if: "query-params.api_key = hunter13 or query-string contains 'token=hunter14'", response: {body: "{% if header-params.x-api-key = 'hunter15' %}x{% endif %}"}}
- endpoint: {path: /c, let: {apiToken: hunter16}, find: {user: {in: users, where: {password: hunter17}}}, response: {external-body: {provider: json, path: "http://ann:hunter18@127.0.0.1:1/x?sig=hunter19"}}}
- endpoint: {method: POST, path: /d, do: [{insert: {in: users, row: {password: hunter20}}}], responses: [{weight: 1, webhook: {url: "http://127.0.0.1:1/", sleep-time: 1h, body: "token=hunter21&n=1"}}]}
- endpoint: {path: /p, response: {proxy: {to: real, path: "/x?access_token=hunter22"}}}
- data: {name: users, index: [password], rows: [{id: 1, password: hunter23}]}
- upstream: {name: real, url: "http://127.0.0.1:1", headers: {Authorization: Bearer hunter24}}
- websocket: {path: /ws, if: "'hunter25' = header-params.x-token", on-message: [{pattern: {token: hunter26}, response: ok}]}
- resource: {path: /r, data: {rows: [{id: 1, api_key: hunter27}]}, on: {list: {if: "header-params.cookie contains hunter28"}}}
`

// No place that shows a configuration shows a secret in it.
func TestAdmin_SecretsAreShownNowhere(t *testing.T) {
	t.Parallel()
	p, admin := Administered(t, secretive)
	shown := map[string]string{}
	p.Do("POST", "/a", "", "Authorization: Bearer hunter2").Want(t, 200, "one")
	p.Do("POST", "/a", "", "Authorization: Bearer hunter12").Want(t, 200, "three")
	p.Do("POST", "/d", "{}", "Content-Type: application/json")
	for _, path := range []string{"/a", "/b", "/c", "/p", "/ws", "/nowhere"} {
		shown["answer of "+path] = p.Get(path).Body + p.Do("POST", path, "").Body
	}
	for _, path := range []string{
		"/metrics", "/__admin/config", "/__admin/endpoints", "/__admin/counts", "/__admin/journal", "/__admin/unmatched", "/__admin/webhooks",
		"/__admin/recordings", "/__admin/timing", "/__admin/runs", "/__admin/state", "/__admin/fleet", "/__admin/tls", "/",
	} {
		shown[path] = admin.Get(path).Body
	}
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", secretive)
	for _, args := range [][]string{{"export", "-c", file}, {"export", "-c", file, "--export-format", "json"}, {"validate", "-c", file}, {"validate", "-c", file, "-f", "json"}} {
		code, stdout, stderr := Refused(t, nil, args...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		shown[strings.Join(args, " ")] = stdout + stderr
	}
	stdout, stderr := p.Stopped()
	shown["log"] = stdout + stderr
	for place, text := range shown {
		if at := strings.Index(text, "hunter"); at >= 0 {
			t.Errorf("%s shows %s", place, text[max(0, at-200):min(len(text), at+20)])
		}
	}
}

// A secret that lacks quotes is not quoted in the message about it either.
func TestAdmin_MessagesShowNoSecrets(t *testing.T) {
	t.Parallel()
	for n, faulty := range []string{
		`- endpoint: {path: /a, if: header-params.authorization = Bearer hunter2, response: {}}`,
		`- endpoint: {path: /a, if: (cookie-params.sid = hunter2 x, response: {}}`,
		`- endpoint: {path: /a, response: {}, webhook: {url: "http://a:99999/?token=hunter2"}}`,
	} {
		file := harness.WriteFile(t, t.TempDir(), "mock.yml", faulty+"\n")
		code, stdout, stderr := Refused(t, nil, "validate", "-c", file)
		if code != 2 || strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%d: got %d and %s", n, code, stdout+stderr)
		}
	}
	for _, flag := range []string{"--upstream=http://ann:hunter2@a/", "--shared-state=nats://ann:hunter2@", "--webhook-store=nats://hunter2@a:x"} {
		if code, stdout, stderr := Refused(t, nil, flag); code != 2 || strings.Contains(stdout+stderr, "hunter2") {
			t.Errorf("%s: got %d and %s", flag, code, fmt.Sprint(stdout, stderr))
		}
	}
}
