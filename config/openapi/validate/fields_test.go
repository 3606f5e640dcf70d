package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// FuzzFields reads arbitrary forms. Nothing may panic, and the result is a JSON object.
func FuzzFields(f *testing.F) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(`{"openapi": "3.1.0", "info": {"title": "", "version": ""}, "components": {"schemas": {"s": {"properties": {"n": {"type": "integer"}, "a": {"type": "array", "items": {"$ref": "#/components/schemas/s"}}, "u": {"type": ["boolean", "number", "null"]}, "o": {"additionalProperties": {"type": "number"}}}}}}}`))
	if err != nil {
		f.Fatal(err)
	}
	all := []*Schema{nil, NewSchema(doc, doc.Components.Schemas["s"], nil, func(what string) { f.Error(what) })}
	for _, form := range []string{
		"n=007&a[0][n]=-00.5&a[][a][]=1&u=&u=null&o[x]=1e9", "a=1&a[b]=2", "a[999999999]=1&a[]=2", "__proto__[a]=1&=x&&=", "a" + strings.Repeat("[]", 40) + "=1", "%zz=%&n=%ff", "][=1&[]]=&a[[]=",
	} {
		f.Add("application/x-www-form-urlencoded", form)
	}
	f.Add("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"a[]\"\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n\xff\r\n--b--\r\n")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		for _, fields := range all {
			text, err := fields.AppendForm(nil, contentType, []byte(body))
			var object map[string]any
			if err == nil && json.Unmarshal(text, &object) != nil {
				t.Errorf("%q of %q is %q, which is not a JSON object", body, contentType, text)
			}
		}
	})
}
