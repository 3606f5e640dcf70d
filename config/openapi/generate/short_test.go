package generate

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mockserver/config/openapi/text"
)

// Texts of a format are found also where only a short one fits.
func TestTextsOfFormatsMayBeShort(t *testing.T) {
	for format, most := range map[string]int{
		"ipv6": 2, "ipv4": 7, "email": 3, "hostname": 1, "uri": 2, "uri-reference": 1, "duration": 3, "json-pointer": 1, "relative-json-pointer": 1,
		"date": 10, "date-time": 20, "time": 9, "uuid": 36, "cidr": 4, "regex": 1, "byte": 4, "uri-template": 1,
	} {
		for _, extra := range []int{0, 1, 3, 5} {
			doc := schemaDocument(t, "3.1.0", fmt.Sprintf(`{"S": {"type": "string", "format": %q, "maxLength": %d}}`, format, most+extra))
			var s string
			if err := json.Unmarshal(made(t, doc, "S", 1, false), &s); err != nil || len(s) > most+extra || !text.Format(format)(s) {
				t.Errorf("%s of at most %d: got %q %v", format, most+extra, s, err)
			}
		}
	}
}

// A text with a contentEncoding can be decoded.
func TestEncodedTextsCanBeDecoded(t *testing.T) {
	for encoding, decode := range map[string]func(string) ([]byte, error){
		"base64": base64.StdEncoding.DecodeString, "base64url": base64.URLEncoding.DecodeString, "base32": base32.StdEncoding.DecodeString, "base16": hex.DecodeString,
	} {
		for _, bounds := range []string{"", `, "minLength": 20`, `, "maxLength": 8`, `, "minLength": 8, "maxLength": 8`, `, "minLength": 33, "maxLength": 48`} {
			doc := schemaDocument(t, "3.1.0", fmt.Sprintf(`{"S": {"type": "string", "contentEncoding": %q, "contentMediaType": "image/png"%s}}`, encoding, bounds))
			var s string
			err := json.Unmarshal(made(t, doc, "S", 1, false), &s)
			if plain, wrong := decode(s); err != nil || wrong != nil || len(plain) == 0 {
				t.Errorf("%s%s: got %q %v %v", encoding, bounds, s, err, wrong)
			}
		}
	}
}

// A pattern of names is not anchored at its end, so that a prefix gives any number of names.
func TestNamesOfAPrefix(t *testing.T) {
	for pattern, prefix := range map[string]string{"^x-": "x-", "^com[.]example[.]labels[.]": "com.example.labels.", "^é": "é", "^a": "a"} {
		doc := schemaDocument(t, "3.1.0", fmt.Sprintf(`{"S": {"type": "object", "patternProperties": {%q: {"type": "integer"}}, "additionalProperties": false, "minProperties": 5}}`, pattern))
		var o map[string]int
		if err := json.Unmarshal(made(t, doc, "S", 1, false), &o); err != nil || len(o) < 5 {
			t.Errorf("%s: got %v %v", pattern, o, err)
		}
		for name := range o {
			if !strings.HasPrefix(name, prefix) {
				t.Errorf("%s: got the name %q", pattern, name)
			}
		}
	}
}
