package validate

import (
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// alternative is a set of credentials, all of which a request needs to be admitted. An empty set
// admits every request.
type alternative []credential

// credential is something that a request must contain. Its value is not verified.
type credential struct {
	scheme    string // the name of the scheme in the document
	in, name  string // the location: "header" and "Authorization"
	prefix    string // the prefix of the value: "Bearer"; "" for any non-empty value
	challenge string // the value of WWW-Authenticate that asks for the credential
}

// checkSecurity looks for the credentials of one of the alternatives. When none is satisfied, each
// credential that is missing for any of them is a violation.
func (c *Checks) checkSecurity(r *Request, found *findings) {
	if len(c.security) == 0 || slices.ContainsFunc(c.security, func(a alternative) bool { return a.holds(r) }) {
		return
	}
	or := ""
	if len(c.security) > 1 {
		or = "; one of the alternatives is enough"
	}
	for _, a := range c.security {
		for i := range a {
			if k := &a[i]; !k.isIn(r) {
				found.add(unauthorized, k.in, below("/"+k.in, pointerName(k.in, k.name)), k.what()+or)
				if !slices.Contains(found.challenges, k.challenge) {
					found.challenges = append(found.challenges, k.challenge)
				}
			}
		}
	}
}

func (a alternative) holds(r *Request) bool {
	return !slices.ContainsFunc(a, func(k credential) bool { return !k.isIn(r) })
}

func (k *credential) isIn(r *Request) bool {
	switch k.in {
	case inCookie:
		value, ok := r.Cookie(k.name)
		return ok && value != ""
	case inQuery:
		return slices.ContainsFunc(pairsOf(r.Query), func(p pair) bool { return p.name == k.name && p.value != "" })
	}
	return slices.ContainsFunc(r.Header(k.name), func(value string) bool {
		value = strings.TrimSpace(value)
		if k.prefix == "" {
			return value != ""
		}
		scheme, rest, _ := strings.Cut(value, " ")
		return strings.EqualFold(scheme, k.prefix) && strings.TrimSpace(rest) != ""
	})
}

// what returns the message that the credential is missing.
func (k *credential) what() string {
	if k.prefix != "" {
		return "has no credentials of the form " + k.prefix + " …, which the security scheme " + k.scheme + " requires"
	}
	return "is missing or empty; the security scheme " + k.scheme + " requires it"
}

// security compiles the requirements of an operation, or else those of the document.
func (c *Compiler) security(op *openapi3.Operation, pointer string) []alternative {
	requirements := c.doc.Security
	if op.Security != nil {
		requirements = *op.Security
	}
	var all []alternative
	for _, requirement := range requirements {
		a := alternative{}
		for name := range requirement {
			if k, ok := c.credential(name, pointer); ok {
				a = append(a, k)
			}
		}
		slices.SortFunc(a, func(x, y credential) int { return strings.Compare(x.scheme, y.scheme) })
		all = append(all, a)
	}
	return all
}

// credential returns the credential that a security scheme requires. It returns false when the
// credential is not visible in a request or the scheme is not declared.
func (c *Compiler) credential(name, pointer string) (credential, bool) {
	var scheme *openapi3.SecurityScheme
	if components := c.doc.Components; components != nil && components.SecuritySchemes[name] != nil {
		scheme = components.SecuritySchemes[name].Value
	}
	if scheme == nil {
		c.warn(manyUndeclared, pointer, "the security scheme "+name+" is not declared; requests are not checked against it")
		return credential{}, false
	}
	k := credential{scheme: name, in: inHeader, name: "Authorization"}
	switch scheme.Type {
	case "apiKey":
		k.in, k.name = scheme.In, scheme.Name
		k.challenge = `ApiKey in="` + scheme.In + `", name="` + quotable.Replace(scheme.Name) + `"`
		return k, k.name != "" && (k.in == inHeader || k.in == inQuery || k.in == inCookie)
	case "http":
		if s := scheme.Scheme; s != "" {
			k.prefix = strings.ToUpper(s[:1]) + strings.ToLower(s[1:])
		}
	case "oauth2", "openIdConnect":
		k.prefix = "Bearer"
	default:
		return credential{}, false // mutualTLS, which is not part of the request
	}
	k.challenge = k.prefix + ` realm="` + quotable.Replace(name) + `"`
	return k, k.prefix != ""
}

// quotable removes the characters that would end a quoted string or the line.
var quotable = strings.NewReplacer(`"`, "", `\`, "", "\r", "", "\n", "")
