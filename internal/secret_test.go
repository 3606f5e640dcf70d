package internal_test

import (
	"testing"

	"mockserver/internal/secret"
)

func TestCondition(t *testing.T) {
	for condition, want := range map[string]string{
		"":              "",
		"method = POST": "method = POST",
		"header-params.authorization = 'Bearer x'":                      "header-params.authorization = '(not shown)'",
		`header-params.Authorization matches "^Bearer \"x"`:             `header-params.Authorization matches "(not shown)"`,
		"header-params.x-api-key = abc.def-1 and method = GET":          "header-params.x-api-key = (not shown) and method = GET",
		"method = GET or not (cookie-params.sid = a1)":                  "method = GET or not (cookie-params.sid = (not shown))",
		"'a' = header-params.x-token":                                   "'(not shown)' = header-params.x-token",
		`header-params["x-api-key"] = 'a'`:                              `header-params["x-api-key"] = '(not shown)'`,
		"{{ header-params.authorization|lower }} = 'a'":                 "{{ header-params.authorization|lower }} = '(not shown)'",
		"header-params.authorization = env.TOKEN":                       "header-params.authorization = env.TOKEN",
		"header-params.authorization != null":                           "header-params.authorization != null",
		"header-params.authorization = Bearer a b":                      "header-params.authorization = (not shown) (not shown) (not shown)",
		"json-params.card.clientSecret = 12 and json-params.n > 3":      "json-params.card.clientSecret = (not shown) and json-params.n > 3",
		"json-params.type = token":                                      "json-params.type = token",
		`body contains "password=a&n=1" or body contains '"pin": 1234'`: `body contains "password=(not shown)&n=1" or body contains '"pin": "(not shown)"'`,
		"query-string contains 'Authorization: Bearer a b'":             "query-string contains 'Authorization: (not shown) b'",
		"user.password = 'a' and user.name = 'b'":                       "user.password = '(not shown)' and user.name = 'b'",
		"order.card[0].pin = 'a'":                                       "order.card[0].pin = '(not shown)'",
		"header-params.host = 'a.token.b'":                              "header-params.host = 'a.token.b'",
		"cookie-params['a b'] = c":                                      "cookie-params['a b'] = (not shown)",
		"query-params.key = a = b":                                      "query-params.key = (not shown) = (not shown)",
	} {
		if got := secret.Condition(condition); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", condition, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		`{"password": "a", "n": 1}`: `{"password": "(not shown)", "n": 1}`, "a=1&api_key=b": "a=1&api_key=(not shown)", "accessKey=a": "accessKey=(not shown)",
		"x_private_key: a": "x_private_key: (not shown)", "PWD=a": "PWD=(not shown)", "monkey=a&author=a": "monkey=a&author=a", "Authorization: Bearer a": "Authorization: (not shown)",
	} {
		if got := secret.Text(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// FuzzCondition checks that any text can be masked.
func FuzzCondition(f *testing.F) {
	f.Add("header-params.authorization = 'Bearer x' and (a or b)")
	f.Add(`"token=" '[` + "`")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _, _ = secret.Condition(text), secret.Template(text), secret.Text(text)
	})
}
