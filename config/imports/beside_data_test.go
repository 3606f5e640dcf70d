package imports_test

import (
	"fmt"
	"strings"
)

// stub returns a mapping of WireMock.
func stub(request, response, more string) string {
	return `{"request": {` + request + `}, "response": {` + response + `}` + more + `}`
}

// templated is the transformers key of a response that is a template.
const templated = `"transformers": ["response-template"], `

var wiremocks = []beside{
	{stub(`"method": "GET", "url": "/a?b=1"`, `"body": "a"`, ""), []string{"GET /a?b=1", "GET /a", "GET /a?b=2", "POST /a?b=1"}},
	{stub(`"urlPath": "/p"`, `"status": 201, "jsonBody": {"x": [1, "{{y}}"]}, "headers": {"Content-Type": "application/json"}`, ""), []string{"GET /p", "POST /p?q", "DELETE /p", "GET /p/x"}},
	{stub(`"method": "GET", "urlPathPattern": "/u/[a-z]+/[0-9]{2}"`, `"body": "u"`, ""), []string{"GET /u/ab/12", "GET /u/ab/123", "GET /u/AB/12", "GET /u/ab/12?x=1"}},
	{stub(`"method": "GET", "urlPattern": "/u/[a-z]+"`, `"body": "u"`, ""), []string{"GET /u/ab", "GET /u/ab?x=1", "GET /u/1"}},
	{stub(`"method": "GET", "urlPattern": "/u\\?(a|b)=[0-9]"`, `"body": "u"`, ""), []string{"GET /u?a=1", "GET /u?b=2", "GET /u?c=2", "GET /u"}},
	{stub(`"method": "GET", "urlPattern": "/u/.*"`, `"body": "u"`, ""), []string{"GET /u/x/y?z", "GET /u", "GET /u/"}},
	{stub(`"method": "GET", "urlPathTemplate": "/c/{id}/d", "pathParameters": {"id": {"matches": "[0-9]+"}}`, `"body": "c"`, ""), []string{"GET /c/1/d", "GET /c/x/d", "GET /c/d"}},
	{stub(`"method": "GET", "urlPath": "/h", "headers": {"X-A": {"equalTo": "1"}, "X-B": {"absent": true}}`, `"body": "h"`, ""), []string{"GET /h X-A:1", "GET /h X-A:1.0", "GET /h", "GET /h X-A:1 X-B:x"}},
	{stub(`"method": "GET", "urlPath": "/h", "headers": {"X-A": {"equalTo": "abc", "caseInsensitive": true}}`, `"body": "h"`, ""), []string{"GET /h X-A:ABC", "GET /h X-A:abcd"}},
	{stub(`"method": "GET", "urlPath": "/h", "headers": {"X-A": {"and": [{"contains": "b"}, {"doesNotContain": "c"}]}}`, `"body": "h"`, ""), []string{"GET /h X-A:abd", "GET /h X-A:abc", "GET /h"}},
	{stub(`"method": "GET", "urlPath": "/q", "queryParameters": {"a": {"matches": "[0-9]+"}, "b": {"doesNotMatch": "x.*"}}`, `"body": "q"`, ""), []string{"GET /q?a=12", "GET /q?a=12&b=xy", "GET /q?a=12&b=y", "GET /q?a=1x", "GET /q"}},
	{stub(`"method": "GET", "urlPath": "/q", "queryParameters": {"a": {"or": [{"equalTo": "x"}, {"equalTo": "y"}]}, "b": {"not": {"equalTo": "z"}}}`, `"body": "q"`, ""), []string{"GET /q?a=x", "GET /q?a=y&b=1", "GET /q?a=z", "GET /q?a=x&b=z"}},
	{stub(`"method": "GET", "urlPath": "/k", "cookies": {"s": {"equalTo": "1"}}`, `"body": "k"`, ""), []string{"GET /k Cookie:s=1", "GET /k Cookie:s=2", "GET /k"}},
	{stub(`"method": "POST", "urlPath": "/j", "bodyPatterns": [{"equalToJson": {"a": 1, "b": [true, null, "x"], "c": {}}}]`, `"body": "j"`, ""),
		[]string{`POST /j {"b":[true,null,"x"],"a":1.0,"c":{}}`, `POST /j {"a":"1","b":[true,null,"x"],"c":{}}`, `POST /j {"a":1,"b":[true,"x"],"c":{}}`, `POST /j {"a":1,"b":[true,null,"x"],"c":[]}`, `POST /j {"a":1,"b":[true,null,"x"],"c":{},"d":1}`, `POST /j =x`}},
	{stub(`"method": "POST", "urlPath": "/j", "bodyPatterns": [{"equalToJson": "{\"a\": {\"b\": \"1\"}}", "ignoreExtraElements": true}]`, `"body": "j"`, ""), []string{`POST /j {"a":{"b":"1","c":2},"d":3}`, `POST /j {"a":{"b":1}}`, `POST /j {"a":{}}`}},
	{stub(`"method": "POST", "urlPath": "/j", "bodyPatterns": [{"equalToJson": {"a": ["x", "y"]}, "ignoreArrayOrder": true}]`, `"body": "j"`, ""), []string{`POST /j {"a":["y","x"]}`, `POST /j {"a":["y","y"]}`, `POST /j {"a":["x","y","z"]}`}},
	{stub(`"method": "POST", "urlPath": "/j", "bodyPatterns": [{"matchesJsonPath": {"expression": "$.a.b", "equalTo": "5"}}]`, `"body": "j"`, ""), []string{`POST /j {"a":{"b":5}}`, `POST /j {"a":{"b":"5"}}`, `POST /j {"a":{"b":6}}`, `POST /j {"a":{}}`, `POST /j =x`}},
	{stub(`"method": "POST", "urlPath": "/j", "bodyPatterns": [{"matchesJsonPath": "$.a['b c'][1]"}]`, `"body": "j"`, ""), []string{`POST /j {"a":{"b c":[1,0]}}`, `POST /j {"a":{"b c":[1]}}`, `POST /j {"a":{"b c":[1,null]}}`, `POST /j {"a":{"b c":[1,""]}}`, `POST /j {"a":{"b c":[1,false]}}`}},
	{stub(`"method": "POST", "urlPath": "/b", "bodyPatterns": [{"contains": "one"}, {"matches": ".*two.*"}]`, `"body": "b"`, ""), []string{"POST /b =one,two", "POST /b =one", "POST /b =two"}},
	{stub(`"method": "GET", "urlPath": "/auth", "basicAuthCredentials": {"username": "u", "password": "p"}`, `"body": "x"`, ""), []string{"GET /auth Authorization:Bearer", "GET /auth"}},
	{stub(`"method": "GET", "urlPathPattern": "/.*"`, `"body": "all"`, `, "priority": 10`) + "," + stub(`"method": "GET", "urlPath": "/x/y"`, `"body": "one"`, "") + "," + stub(`"method": "GET", "urlPathPattern": "/x/[a-z]"`, `"body": "first"`, `, "priority": 1`),
		[]string{"GET /x/y", "GET /x/1", "GET /", "GET /a/b/c"}},
	{stub(`"method": "GET", "urlPath": "/x"`, `"body": "old"`, "") + "," + stub(`"method": "GET", "urlPath": "/x"`, `"body": "new"`, ""), []string{"GET /x"}},
	{stub(`"method": "GET", "url": "/s"`, `"body": "1"`, `, "scenarioName": "a b", "requiredScenarioState": "Started", "newScenarioState": "two"`) + "," + stub(`"method": "GET", "url": "/s"`, `"body": "2"`, `, "scenarioName": "a b", "requiredScenarioState": "two"`), []string{"GET /s", "GET /s", "GET /s"}},
	{stub(`"method": "GET", "urlPathPattern": "/t/[^/]+"`, templated+`"body": "{{request.query.a}}|{{request.path.[1]}}|{{request.headers.X-A}}|{{request.method}}|{{request.cookies.c}}"`, ""), []string{"GET /t/x?a=1 X-A:v Cookie:c=d", "GET /t/y?a=b%20c X-A:v Cookie:c=d"}},
	{stub(`"method": "POST", "url": "/t"`, templated+`"body": "{{jsonPath request.body '$.a.b'}} {{upper (jsonPath request.body '$.c')}} {{#if (eq (jsonPath request.body '$.c') 'x')}}yes{{else}}no{{/if}}"`, ""), []string{`POST /t {"a":{"b":5},"c":"x"}`, `POST /t {"a":{"b":true},"c":"y"}`}},
	{stub(`"method": "POST", "url": "/t"`, templated+`"body": "[{{#each (jsonPath request.body '$.l') as |i|}}{\"v\": \"{{i.n}}\"}{{#unless @last}},{{/unless}}{{/each}}]"`, ""), []string{`POST /t {"l":[{"n":"p"},{"n":"q"}]}`, `POST /t {"l":[]}`}},
	{stub(`"urlPath": "/t"`, templated+`"body": "{{#if request.query.a}}y{{else}}n{{/if}}{{#if (jsonPath request.body '$.v')}}y{{else}}n{{/if}}{{#eq (jsonPath request.body '$.v') '1'}}1{{/eq}}{{#eq request.query.a '0'}}0{{/eq}}<{{jsonPath request.body '$.v'}}>"`, ""),
		[]string{`POST /t?a=0 {"v":"0"}`, `POST /t?a= {"v":null}`, `POST /t?a=false {"v":true}`, `POST /t {"v":[]}`, `POST /t {"v":1}`, `POST /t {"v":"1"}`, `POST /t {"v":"false"}`, `POST /t {"v":0.0}`, `POST /t {}`, "GET /t"}},
	{stub(`"urlPath": "/t"`, templated+`"body": "[{{#each (jsonPath request.body '$.l')}}{{this}},{{/each}}]{{val request.query.a or='d'}}\n{{#if true}}\nx\n{{/if}}\n{{urlEncode 'a b~*'}}"`, ""), []string{`POST /t?a= {"l":[1,null]}`, `POST /t?a=5 {"l":[5,true]}`, `POST /t {"l":[]}`}},
	{stub(`"urlPath": "/b", "bodyPatterns": [{"matches": ".*two.*"}, {"doesNotMatch": ".*three.*"}]`, `"body": "b"`, ""), []string{"POST /b =one\ntwo\n", "POST /b =two\nthree", "POST /b =one"}},
	{stub(`"urlPathTemplate": "/c/{id}", "pathParameters": {"id": {"matches": "[a-z]+"}}`, templated+`"body": "{{request.path.id}} {{request.path}}"`, ""), []string{"GET /c/abc", "GET /c/a%62c", "GET /c/a%20b", "GET /c/1"}},
	{stub(`"urlPath": "/b", "bodyPatterns": [{"matches": ".*"}]`, `"body": "b"`, "") + "," + stub(`"urlPath": "/n", "bodyPatterns": [{"doesNotMatch": ".*"}]`, `"body": "n"`, ""), []string{"POST /b =", "POST /b =x", "POST /n =", "POST /n =x"}},
	{stub(`"urlPath": "/k", "cookies": {"a": {"not": {"equalTo": "1"}}}`, `"body": "k"`, ""), []string{"GET /k", "GET /k Cookie:a=1", "GET /k Cookie:a=2"}},
	{stub(`"urlPathPattern": ".*/last"`, `"body": "last"`, `, "priority": 1`) + "," + stub(`"urlPath": "/a,b;c=('1')!*"`, `"body": "a", "jsonBody": {}`, ""), []string{"GET /a,b;c=('1')!*"}},
	{stub(`"method": "GET", "url": "/r"`, `"status": 302, "headers": {"Location": "/x", "Set-Cookie": ["a=1", "b=2"]}`, ""), []string{"GET /r"}},
	{stub(`"urlPath": "/h", "headers": {"X": {"equalTo": "1"}}`, templated+`"body": "{{request.host}} {{request.port}} {{request.baseUrl}} {{request.scheme}} {{#if request.port}}y{{/if}}"`, ""), []string{"GET /h X:1 Host:Example.com", "GET /h X:1 Host:a.b:99", "GET /h X:1 Host:a.b:80", "GET /h X:1 Host:[::1]:7"}},
	{stub(`"url": "/a%2Fb"`, `"body": "a"`, "") + "," + stub(`"urlPath": "/c/%7Bd%7D"`, `"body": "c"`, "") + "," + stub(`"url": "/e{f}"`, `"body": "e"`, "") + "," + stub(`"urlPattern": "/g%2F.*"`, `"body": "g"`, ""),
		[]string{"GET /a%2Fb", "GET /a%2fb", "GET /a/b", "GET /c/%7Bd%7D", "GET /c/%7bd%7d", "GET /e%7Bf%7D", "GET /g%2Fx", "GET /g/x"}},
	{stub(`"urlPath": "/b", "bodyPatterns": [{"matchesJsonPath": "$"}]`, `"body": "b"`, ""), []string{"POST /b =x", `POST /b {}`, `POST /b {"a":1}`, "POST /b []", "POST /b [1]", "POST /b =null", "POST /b =nullx", "POST /b =5", "POST /b =0", "POST /b =false", `POST /b =""`, `POST /b ="s"`, "POST /b {", "POST /b [1,", "POST /b"}},
	{stub(`"urlPattern": "/p/.*"`, `"proxyBaseUrl": "{origin}", "additionalProxyRequestHeaders": {"X-Added": "1"}, "removeProxyRequestHeaders": ["x-gone", "X-Stays"], "status": 500, "fault": "EMPTY_RESPONSE"`, ""), []string{"GET /p/a?b=c%20d X-Gone:1", `POST /p/x {"a":1}`, "DELETE /p/x", "GET /q"}},
}

var mockoons = []beside{
	{"{origin}" + httpRoute("get", "own", "null", `, "body": "own"`), []string{"GET /own", "GET /other?a=b%20c X-Gone:1", `POST /x/y {"a":1}`, "DELETE /own"}},
	{httpRoute("get", "a/:id", "null", `, "body": "id {{urlParam 'id'}}"`), []string{"GET /a/1", "GET /a/b%20c", "GET /a", "POST /a/1", "GET /a/1/"}},
	{httpRoute("post", "q", "null", `, "body": "{{queryParam 'a' 'none'}}", "statusCode": 201`), []string{"POST /q?a=1", "POST /q"}},
	{httpRoute("get", "h", "null", `, "body": "x", "headers": [{"key": "Content-Type", "value": "text/plain"}, {"key": "X-A", "value": "{{header 'X-B'}}"}]`), []string{"GET /h X-B:1"}},
	{httpRoute("get", "j", "null", `, "body": "{\"a\": \"{{method}}\"}", "headers": [{"key": "Content-Type", "value": "application/json"}]`), []string{"GET /j"}},
	{httpRoute("get", "off", "null", `, "body": "{{method}} {%x%}", "disableTemplating": true`), []string{"GET /off"}},
	{httpRoute("get", "s", `"SEQUENTIAL"`, `, "body": "1"`, `, "body": "2"`, `, "body": "3"`), []string{"GET /s", "GET /s", "GET /s", "GET /s"}},
	{httpRoute("get", "d", `"DISABLE_RULES"`, `, "body": "usual"`, `, "body": "never"`), []string{"GET /d", "GET /d"}},
	{httpRoute("get", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "header", "modifier": "X-A", "operator": "equals", "value": "1", "invert": false}]`), []string{"GET /r", "GET /r X-A:1", "GET /r X-A:1.0", "GET /r X-A:2"}},
	{httpRoute("get", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "query", "modifier": "a", "operator": "regex", "value": "^[0-9]+$", "invert": true}]`), []string{"GET /r", "GET /r?a=1", "GET /r?a=x"}},
	{httpRoute("get", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "query", "modifier": "a", "operator": "regex_i", "value": "B", "invert": false}]`), []string{"GET /r?a=abc", "GET /r?a=aBc", "GET /r?a=c"}},
	{httpRoute("get", "r/:x", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "params", "modifier": "x", "operator": "equals", "value": "7", "invert": false}]`), []string{"GET /r/7", "GET /r/8"}},
	{httpRoute("get", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "cookie", "modifier": "c", "operator": "equals", "value": "7", "invert": false}]`), []string{"GET /r Cookie:c=7", "GET /r"}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "a.b.0", "operator": "equals", "value": "x", "invert": false}]`), []string{`POST /r {"a":{"b":["x"]}}`, `POST /r {"a":{"b":["y","x"]}}`, `POST /r {"a":1}`}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "$.l", "operator": "array_includes", "value": "p", "invert": false}]`), []string{`POST /r {"l":["q","p"]}`, `POST /r {"l":["q"]}`, `POST /r {"l":"p"}`}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "l", "operator": "empty_array", "value": "", "invert": false}]`), []string{`POST /r {"l":[]}`, `POST /r {"l":[1]}`, `POST /r {}`}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "n", "operator": "null", "value": "", "invert": false}]`), []string{`POST /r {"n":null}`, `POST /r {"n":""}`, `POST /r {"n":0}`, `POST /r {}`}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "f", "operator": "equals", "value": "v", "invert": false}]`), []string{"POST /r Content-Type:application/x-www-form-urlencoded =f=v", "POST /r Content-Type:application/x-www-form-urlencoded =f=w", `POST /r {"f":"v"}`}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rulesOperator": "AND", "rules": [{"target": "body", "modifier": "", "operator": "regex", "value": "abc", "invert": false}, {"target": "header", "modifier": "X-A", "operator": "null", "value": "", "invert": true}]`), []string{"POST /r X-A:1 Content-Type:text/plain =xabcx", "POST /r Content-Type:text/plain =xabcx"}},
	{httpRoute("get", "x/:a", "null", `, "body": "parameter {{urlParam 'a'}}"`) + "," + httpRoute("get", "x/literal", "null", `, "body": "never"`), []string{"GET /x/literal", "GET /x/y"}},
	{httpRoute("get", "f/*", `"FALLBACK"`, `, "body": "one", "rules": [{"target": "query", "modifier": "a", "operator": "equals", "value": "1", "invert": false}]`) + "," + httpRoute("all", "*", "null", `, "body": "all", "statusCode": 418`), []string{"GET /f/x?a=1", "GET /f/x", "PUT /y/z", "GET /"}},
	{httpRoute("get", "o/:a?", "null", `, "body": "o"`), []string{"GET /o", "GET /o/x", "GET /o/x/y"}},
	{httpRoute("post", "t", "null", `, "body": "{{body 'a.b'}} {{uppercase (body 'c')}} {{add 1 2}} {{#if (eq (body 'c') 'x')}}yes{{else}}no{{/if}} {{queryParam 'q' 'd'}}"`), []string{`POST /t {"a":{"b":5},"c":"x"}`, `POST /t?q=1 {"a":{"b":"s"},"c":"y"}`}},
	{httpRoute("get", "rep", "null", `, "body": "[{{#repeat 3}}{\"i\": {{@index}} }{{/repeat}}]", "headers": [{"key": "Content-Type", "value": "application/json"}]`), []string{"GET /rep"}},
	{httpRoute("post", "v", "null", `, "body": "{{body 'v'}}|{{body 'v' 'd'}}|{{#if (body 'v')}}y{{else}}n{{/if}}{{#if (bodyRaw 'v')}}y{{else}}n{{/if}}{{#if (eq (body 'v') '1')}}1{{/if}}{{#if (eq (body 'v') 1)}}2{{/if}}{{#if (eq (bodyRaw 'v') 1)}}3{{/if}}{{#if (gt (body 'v') 0)}}4{{/if}}{{#if (lt (body 'v') 1)}}5{{/if}}"`),
		[]string{`POST /v {"v":null}`, `POST /v {"v":"0"}`, `POST /v {"v":0}`, `POST /v {"v":1}`, `POST /v {"v":"1"}`, `POST /v {"v":""}`, `POST /v {"v":"x"}`, `POST /v {"v":"10"}`, `POST /v {"v":{}}`, `POST /v {"v":[]}`, `POST /v {}`}},
	{httpRoute("get", "q", "null", `, "body": "{{queryParam 'a' 'd'}}|{{header 'X-A' 'd'}}|{{#if (queryParam 'a')}}y{{/if}}{{#if (queryParamRaw 'a')}}y{{else}}n{{/if}}{{#if (header 'X-A')}}y{{else}}n{{/if}}{{#if (gt (queryParam 'a') 1)}}>{{/if}}{{#if (lt (queryParam 'a') 1)}}<{{/if}}"`),
		[]string{"GET /q", "GET /q?a=", "GET /q?a=0 X-A:0", "GET /q?a=x", "GET /q?a=10"}},
	{httpRoute("get", "rep", "null", `, "body": "x\n{{#repeat 3}}\n  a {{@index}} {{@total}} {{@last}}, \n{{/repeat}}\n{{#repeat 2 comma=false}}b {{/repeat}}|{{#repeat 0}}c{{/repeat}}{{#repeat 2}}{\"i\": {{@index}} }{{#unless @last}},{{/unless}}{{/repeat}} {{~method~}} \\\\{{method}}", "headers": [{"key": "Content-Type", "value": "text/plain"}]`), []string{"GET /rep"}},
	{httpRoute("get", "o/:id?", "null", `, "body": "usual {{urlParam 'id'}}"`, `, "body": "one", "rules": [{"target": "params", "modifier": "id", "operator": "equals", "value": "1", "invert": false}]`, `, "body": "none", "rules": [{"target": "params", "modifier": "id", "operator": "null", "value": "", "invert": false}]`),
		[]string{"GET /o", "GET /o/1", "GET /o/2", "GET /o/"}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "a", "operator": "equals", "value": "1", "invert": false}]`),
		[]string{`POST /r {"a":1}`, `POST /r {"a":1.0}`, `POST /r {"a":"1.0"}`, `POST /r {"a":["2","1"]}`, `POST /r Content-Type:text/plain {"a":1}`, "POST /r Content-Type:text/plain =1", "POST /r Content-Type:application/x-www-form-urlencoded =a=1", "POST /r =1", "POST /r =x", `POST /r ="1"`}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "a", "operator": "null", "value": "", "invert": false}]`),
		[]string{`POST /r {"a":null}`, `POST /r {"a":""}`, `POST /r {"a":0}`, `POST /r {}`, "POST /r =x", "POST /r =1", "POST /r Content-Type:text/plain =x", "POST /r Content-Type:text/plain", "POST /r Content-Type:application/x-www-form-urlencoded =b=1", "POST /r Content-Type:application/x-www-form-urlencoded =a=1"}},
	{httpRoute("post", "r", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "body", "modifier": "l", "operator": "array_includes", "value": "true", "invert": false}]`),
		[]string{`POST /r {"l":[true]}`, `POST /r {"l":["x\"","true"]}`, `POST /r {"l":true}`, `POST /r {"l":["tru"]}`, `POST /r {"l":[false]}`}},
	{httpRoute("get", "n", "null", `, "body": "{{hostname}}"`), []string{"GET /n Host:Example.com", "GET /n Host:a.b:99"}},
	{httpRoute("all", "m", "null", `, "body": "usual"`, `, "body": "h", "rules": [{"target": "method", "modifier": "", "operator": "equals", "value": "get", "invert": false}]`, `, "body": "never", "rules": [{"target": "method", "modifier": "", "operator": "equals", "value": "POST", "invert": false}]`), []string{"GET /m", "POST /m"}},
	{httpRoute("post", "j", "null", `, "body": "{\"n\": {{body 'n'}}, \"s\": \"{{body 'n'}}\" }", "headers": [{"key": "Content-Type", "value": "application/json"}]`), []string{`POST /j {"n":5}`, `POST /j {"n":null}`, `POST /j {}`}},
}

var jsonservers = []beside{
	{`{"a": [{"id": 1, "n": "x"}, {"id": 2, "n": "y"}]}`, []string{"GET /a", "GET /a/1", "GET /a/3", "HEAD /a"}},
	{`{"a": []}`, []string{"GET /a", `POST /a {"id":7,"n":"x"}`, "GET /a", "GET /a/7"}},
	{`{"a": [{"id": 5}]}`, []string{`POST /a {"n":1}`, "GET /a/6", "GET /a"}},
	{`{"a": [{"id": "x", "n": 1}]}`, []string{`PUT /a/x {"n":2}`, "GET /a/x", `PUT /a/y {"n":2}`}},
	{`{"a": [{"id": 1, "n": 1, "m": 2}]}`, []string{`PATCH /a/1 {"n":2}`, "GET /a/1", `PATCH /a/2 {"n":2}`}},
	{`{"a": [{"id": 1}, {"id": 2}]}`, []string{"DELETE /a/9", "GET /a"}},
	{`{"a": [{"id": 1, "n": "x"}, {"id": 2, "n": "y"}, {"id": 3, "n": "x"}]}`, []string{"GET /a?n=x", "GET /a?n=y", "GET /a?n=z", "GET /a?n=x&n=y"}},
	{`{"a": [{"id": 1, "u": {"n": "x"}}, {"id": 2, "u": {"n": "y"}}]}`, []string{"GET /a?u.n=y", "GET /a?u.n=q"}},
	{`{"a": [{"id": 1}, {"id": 2}, {"id": 3}]}`, []string{"GET /a?_limit=2", "GET /a?_page=2&_limit=2", "GET /a?_page=9&_limit=2"}},
	{`{"a": [{"id": 1, "v": true}, {"id": 2, "v": false}]}`, []string{"GET /a?v=true", "GET /a?v=false"}},
	{`{"a": [{"id": 1, "v": 1.5}, {"id": 2, "v": 2}]}`, []string{"GET /a?v=1.5", "GET /a?v=2"}},
	{`{"posts": [{"id": 1}], "comments": [{"id": 1, "postId": 1}, {"id": 2, "postId": 2}]}`, []string{"GET /posts/1/comments", "GET /posts/2/comments", "GET /posts/3/comments"}},
	{`{"posts": [{"id": 1, "t": "One", "u": {"n": "ann"}, "v": 0}, {"id": 2, "t": "two", "n": null, "v": 5}], "comments": [{"id": 1, "postId": 1, "b": "x"}, {"id": 2, "postId": "2"}, {"id": 3, "postId": 2}], "list": ["a"], "o": {"a": 1}}`,
		[]string{"GET /db", "GET /posts?q=ONE", "GET /posts?q=ann&_limit=1", "GET /posts?q=0", "GET /posts?q=null", "GET /posts?q=", "GET /posts?t_like=O", "GET /posts?t_like=%5Et", "GET /posts?t_like=one&t_like=w", "GET /posts?n_like=.",
			"GET /posts?u.n_like=N$", "GET /posts?x_like=a", "GET /posts?x_gte=1", "GET /posts?x_y=1", "GET /posts?v_ne=5", "GET /posts?v_ne=5&v_ne=0", "GET /posts/1?_embed=comments", "GET /posts?_embed=comments", "GET /posts?_embed=comments&_page=2&_limit=1",
			"GET /comments?_expand=post", "GET /comments/1?_expand=post", "GET /posts/2/comments?_expand=post", "GET /posts?_start=1&_end=2", "GET /posts?_start=1&_limit=1", "GET /posts?_sort=v&_order=desc"}},
	{`{"posts": [{"id": 1, "n": {"a": 1, "b": 2}}, {"id": 2}], "comments": [{"id": 1, "postId": 1}, {"id": 2, "postId": 2}]}`,
		[]string{`PATCH /posts/1 {"n":{"a":null},"m":null,"id":9}`, `PUT /posts/2 {"a":1,"id":9}`, `POST /posts/2/comments {"b":1}`, "GET /posts/2?_embed=comments", "DELETE /posts/2", "GET /comments", "GET /db"}},
	{`{"people": [{"id": 1}], "categories": [{"id": 1, "personId": 1}]}`, []string{"GET /people/1/categories", "GET /people?_embed=categories", "GET /categories?_expand=person"}},
	{`{"profile": {"name": "x", "n": {"a": 1}}}`, []string{"GET /profile", "HEAD /profile"}},
	{`{"profile": {"name": "x"}}`, []string{`PUT /profile {"a":1}`, "GET /profile"}},
	{`{"profile": {"name": "x"}}`, []string{`PATCH /profile {"a":1}`, "GET /profile"}},
	{`{"profile": {"name": "x"}}`, []string{`POST /profile {"a":1}`, "GET /profile"}},
	{`{"tags": ["a", "b"], "numbers": [1, 2]}`, []string{"GET /tags", "GET /numbers"}},
	{`{"a": [{"id": 1, "t": "{{x}} {% y %}"}], "o": {"t": "{{x}}"}}`, []string{"GET /a", "GET /a/1", "GET /o"}},
	{`{"a-b_c": [{"id": 1}], "d.e": [{"id": 1}]}`, []string{"GET /a-b_c", "GET /a-b_c/1", "GET /d.e/1"}},
	{`{"a": [{"id": 1, "x": null, "y": [1, {"z": 2}], "w": "ü\n\""}]}`, []string{"GET /a", "GET /a/1"}},
	{`{"a": [{"id": 1}], "b": [{"id": 1}]}`, []string{`POST /a {"n":1}`, "GET /b", "GET /a/2", "GET /nothing", "POST /a/1 {}"}},
	{`{"a": []}`, []string{`POST /a {"n":1,"m":{"k":"x"},"t":["p","q"]}`, `POST /a {"n":2,"_id":5}`, "GET /a?n=2", "GET /a?n=1&n=2", "GET /a?n=1&id=2", "GET /a?m.k=x", "GET /a?none=1", "GET /a?none=1&n=2", "GET /a?_=5", "GET /a?_id=5",
		"GET /a?n_gte=2", "GET /a?n_ne=1", "GET /a?n_like=1", "GET /a?t_like=q", "GET /a?t=p", "GET /a?none_ne=1", "GET /a?none_gte=1&none=2", "GET /a?_sort=n&_order=desc", "GET /a?_sort=none,n&_order=asc,desc", "GET /a?q=X", "GET /a?_sort=n&n_lte=1&_limit=1",
		`PATCH /a/1 {"z":null}`, "GET /a?z=1", "GET /a?n_x=1", "GET /a?callback_x=1"}},
	{`{"posts": [{"id": 1}, {"id": 2}], "comments": [], "users": [], "categories": []}`, []string{"GET /posts/1/comments", "GET /posts?_embed=comments", `POST /posts/1/comments {"b":1}`, `POST /comments {"postId":2}`, "GET /posts/1/comments", "GET /posts/2/comments",
		"GET /posts?_embed=comments", "GET /comments?_expand=post", `POST /users {"n":1}`, "POST /categories {}", `POST /comments {"userId":1,"categoryId":1}`, "GET /comments/3?_expand=user", "GET /comments/3?_expand=category", "GET /users/1?_embed=comments", "GET /comments?userId=1", "DELETE /posts/2", "GET /comments", "GET /db"}},
	{`{"news": [{"id": 1}], "buses": [{"id": 1, "houseId": 2}], "houses": [{"id": 2, "busId": 1, "movieId": 1}], "movies": [{"id": 1}]}`, []string{"GET /buses/1/houses", "GET /houses/2/buses", "GET /buses?_embed=houses", "GET /houses?_expand=bus&_expand=movie", "GET /movies/1/houses"}},
	{`{"a": ` + numbered(10_001) + `}`, []string{"GET /db", "GET /a", "GET /a?_sort=id&_order=desc"}},
}

// numbered returns a list of rows that have only an id.
func numbered(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d}`, i+1)
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// saved returns a collection with one request and its saved response.
func saved(request, response string) string {
	return `{"info": {"name": "c", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}, "variable": [{"key": "v", "value": "v1"}], "item": [` + one(request, response) + `]}`
}

func one(request, response string) string {
	return `{"name": "r", "request": {` + request + `}, "response": [{"name": "s", "originalRequest": {` + request + `}, ` + response + `}]}`
}

var postmans = []beside{
	{saved(`"method": "GET", "url": "{{base}}/a"`, `"code": 200, "body": "a"`), []string{"200 a"}},
	{saved(`"method": "GET", "url": "{{base}}/{{v}}/a"`, `"code": 404, "body": "none"`), []string{"404 none"}},
	{saved(`"method": "GET", "url": {"raw": "{{base}}/u/:id", "host": ["{{base}}"], "path": ["u", ":id"], "variable": [{"key": "id", "value": "7"}]}`, `"code": 200, "body": "u"`), []string{"200 u"}},
	{saved(`"method": "GET", "url": "{{base}}/q?a=1&b=x%20y"`, `"code": 200, "body": "q"`), []string{"200 q"}},
	{saved(`"method": "POST", "url": "{{base}}/p", "body": {"mode": "raw", "raw": "{\"a\": 1}"}, "header": [{"key": "Content-Type", "value": "application/json"}]`, `"code": 201, "body": "{\"id\": 1}"`), []string{`201 {"id": 1}`}},
	{saved(`"method": "POST", "url": "{{base}}/f", "body": {"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "b c"}]}`, `"code": 200, "body": "f"`), []string{"200 f"}},
	{saved(`"method": "POST", "url": "{{base}}/m", "body": {"mode": "formdata", "formdata": [{"key": "a", "value": "b", "type": "text"}]}`, `"code": 200, "body": "m"`), []string{"200 m"}},
	{saved(`"method": "PUT", "url": "{{base}}/x"`, `"code": 204, "body": null`), []string{"204 "}},
	{saved(`"method": "DELETE", "url": "{{base}}/x"`, `"code": 200, "body": "{{a}} {% b %}"`), []string{"200 {{a}} {% b %}"}},
	{saved(`"method": "PATCH", "url": "{{base}}/x y"`, `"code": 200, "body": "blank"`), []string{"200 blank"}},
	{saved(`"method": "GET", "url": "{{base}}/"`, `"code": 200, "body": "root"`), []string{"200 root"}},
	{saved(`"method": "OPTIONS", "url": "{{base}}/o"`, `"code": 200, "body": "o"`), []string{"200 o"}},
	{saved(`"method": "GET", "url": "{{base}}/h", "header": [{"key": "X-A", "value": "1"}]`, `"code": 200, "header": [{"key": "Content-Type", "value": "text/xml"}], "body": "<a/>"`), []string{"200 <a/>"}},
	{saved(`"method": "GET", "url": "{{base}}/one?p=1"`, `"code": 200, "body": "1"`)[:len(saved(`"method": "GET", "url": "{{base}}/one?p=1"`, `"code": 200, "body": "1"`))-2] + "," + one(`"method": "GET", "url": "{{base}}/one?p=2"`, `"code": 202, "body": "2"`) + "]}", []string{"200 1", "202 2"}},
	{`{"info": {"name": "c"}, "item": [` + one(`"method": "POST", "url": "{{base}}/j", "body": {"mode": "raw", "raw": "{\"a\": 1}"}`, `"code": 200, "body": "1"`) + "," + one(`"method": "POST", "url": "{{base}}/j", "body": {"mode": "raw", "raw": "{\"a\": 2}"}`, `"code": 402, "body": "2"`) + "]}", []string{"200 1", "402 2"}},
	{`{"info": {"name": "c"}, "item": [` + one(`"method": "GET", "url": "{{base}}/h", "header": [{"key": "X-A", "value": "1"}]`, `"code": 200, "body": "1"`) + "," + one(`"method": "GET", "url": "{{base}}/h", "header": [{"key": "X-A", "value": "2"}]`, `"code": 401, "body": "2"`) + "]}", []string{"200 1", "401 2"}},
	{`{"info": {"name": "c"}, "item": [{"name": "f", "item": [` + one(`"method": "GET", "url": "{{base}}/f/a"`, `"code": 200, "body": "1"`) + `]}, {"name": "g", "item": [` + one(`"method": "GET", "url": "{{base}}/f/b"`, `"code": 200, "body": "2"`) + "]}]}", []string{"200 1", "200 2"}},
	{`{"info": {"name": "c"}, "item": [` + one(`"method": "GET", "url": {"raw": "{{base}}/u/:id", "host": ["{{base}}"], "path": ["u", ":id"], "variable": [{"key": "id", "value": "1"}]}`, `"code": 200, "body": "1"`) + "," +
		one(`"method": "GET", "url": {"raw": "{{base}}/u/:id", "host": ["{{base}}"], "path": ["u", ":id"], "variable": [{"key": "id", "value": "2"}]}`, `"code": 404, "body": "2"`) + "]}", []string{"200 1", "404 2"}},
	{saved(`"method": "GET", "url": "{{base}}/r"`, `"code": 503, "header": [{"key": "Retry-After", "value": "1"}], "body": "later"`), []string{"503 later"}},
	{saved(`"method": "POST", "url": "{{base}}/g", "body": {"mode": "graphql", "graphql": {"query": "{ a }", "variables": ""}}`, `"code": 200, "body": "g"`), []string{"200 g"}},
}
