package mockoon

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/language"
)

// dialect translates the helpers of Mockoon.
type dialect struct {
	*endpoint
	notes []string // what differs
}

func (d *dialect) note(what string) {
	if !slices.Contains(d.notes, what) {
		d.notes = append(d.notes, what)
	}
}

var errNone = errors.New("it has no equivalent")

// Condition implements language.Dialect.
func (d *dialect) Condition(c *language.Call, s *language.Scope) (string, bool, error) {
	if c.Name == "includes" && len(c.Args) == 2 && c.Args[1].Literal {
		operand, err := language.Operand(d, c.Args[0], s)
		return operand + " contains " + language.Quote(c.Args[1].Text), true, err
	}
	return language.Comparison(d, c, s)
}

// Repeat returns how often the block of a helper is repeated; 0 for any other helper, and for a
// repetition that cannot be expressed.
func (d *dialect) Repeat(c *language.Call) int {
	if c.Name != "repeat" || len(c.Args) == 0 || len(c.Args) > 2 {
		return 0
	}
	n, err := strconv.Atoi(c.Args[len(c.Args)-1].Text)
	if err != nil || n < 1 || n > 100 || c.Hash["comma"].Text == "false" {
		return 0
	}
	if len(c.Args) == 2 && c.Args[0].Text != c.Args[1].Text {
		d.note(fmt.Sprintf("a block is always repeated %d times", n))
	}
	return n
}

// Value implements language.Dialect.
func (d *dialect) Value(c *language.Call, s *language.Scope) (string, error) {
	if len(c.Args) == 0 && len(c.Hash) == 0 {
		if expression, ok := simple[c.Name]; ok {
			return expression, nil
		}
		if item := s.Item(c.Name); item != "" {
			return item, nil
		}
	}
	name, otherwise := "", ""
	if len(c.Args) > 0 && c.Args[0].Literal {
		name = c.Args[0].Text
	}
	if len(c.Args) > 1 {
		if !c.Args[1].Literal {
			otherwise = "?"
		} else {
			otherwise = c.Args[1].Text
		}
	}
	if root, ok := roots[c.Name]; ok {
		if name == "" || otherwise == "?" || c.Name != "body" && c.Name != "bodyRaw" && strings.ContainsAny(name, "[]") {
			return "", errNone
		}
		return d.member(root, c.Name, name, otherwise)
	}
	if f, ok := helpers()[c.Name]; ok {
		return f(d, c, s)
	}
	return "", errNone
}

// member returns the expression of a value of the request, with a default unless otherwise is "".
func (d *dialect) member(root, helper, name, otherwise string) (string, error) {
	operand := language.Member(root, name)
	switch {
	case helper == "header" && !language.HeaderName(name):
		return "", errNone
	case helper == "urlParam":
		if !d.own.Has(name) || !d.path.Has(name) {
			return "", errors.New("the path has no such parameter")
		}
	case root == "json-params":
		var err error
		if operand, err = bodyPath(name); err != nil {
			return "", err
		}
		if !strings.ContainsAny(name, ".[$") {
			operand += "|default:" + language.Member("form-params", name)
		}
	case strings.Contains(name, "."):
		return "", errNone
	}
	if otherwise != "" {
		operand += "|default:" + language.Quote(otherwise)
	}
	return operand, nil
}

var roots = map[string]string{"body": "json-params", "bodyRaw": "json-params", "queryParam": "query-params", "queryParamRaw": "query-params",
	"urlParam": "path-params", "header": "header-params", "cookie": "cookie-params"}

// simple maps the helpers without arguments to expressions.
var simple = map[string]string{
	"body": "body", "bodyRaw": "body", "method": "method", "ip": "remote-addr", "uuid": "uuid", "guid": "uuid", "now": "now",
	"int": "random-int(0, 100)", "boolean": "pick(true, false)", "objectId": "random-hex(24)", "newline": `"\n"`,
	"firstName": `fake("firstname")`, "lastName": `fake("lastname")`, "title": `fake("nameprefix")`, "email": `fake("email")`, "phone": `fake("phone")`,
	"company": `fake("company")`, "city": `fake("city")`, "country": `fake("country")`, "countryCode": `fake("countryabr")`, "street": `fake("street")`,
	"zipcode": `fake("zip")`, "postcode": `fake("zip")`, "lat": `fake("latitude")`, "long": `fake("longitude")`, "color": `fake("color")`,
	"hexColor": `fake("hexcolor")`, "domain": `fake("domainname")`, "tld": `fake("domainsuffix")`, "ipv4": `fake("ipv4address")`, "ipv6": `fake("ipv6address")`,
}

type helper func(d *dialect, c *language.Call, s *language.Scope) (string, error)

// helpers returns the helpers with arguments. It is a function because they call each other.
func helpers() map[string]helper {
	return map[string]helper{
		"int": integer, "oneOf": oneOf, "faker": faker, "now": now, "getEnvVar": environment,
		"uppercase": filtered("upper"), "lowercase": filtered("lower"), "base64": filtered("base64"), "len": filtered("length"), "stringify": filtered("json"),
		"add": calculated("add"), "subtract": calculated("sub"), "multiply": calculated("mul"), "join": join, "concat": concat,
	}
}

// filtered returns a helper that a filter of the language implements.
func filtered(name string) helper {
	return func(d *dialect, c *language.Call, s *language.Scope) (string, error) {
		if len(c.Args) != 1 {
			return "", errNone
		}
		operand, err := language.Operand(d, c.Args[0], s)
		return operand + "|" + name, err
	}
}

// calculated returns a helper that an arithmetic filter of the language implements.
func calculated(name string) helper {
	return func(d *dialect, c *language.Call, s *language.Scope) (string, error) {
		if len(c.Args) < 2 {
			return "", errNone
		}
		expression, err := language.Operand(d, c.Args[0], s)
		for _, a := range c.Args[1:] {
			if err != nil {
				break
			}
			var operand string
			if operand, err = language.Operand(d, a, s); strings.Contains(operand, "|") {
				return "", errNone
			}
			expression += "|" + name + ":" + operand
		}
		return expression, err
	}
}

func integer(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) != 2 {
		return "", errNone
	}
	low, err := strconv.Atoi(c.Args[0].Text)
	high, err2 := strconv.Atoi(c.Args[1].Text)
	if err != nil || err2 != nil || low > high || low < math.MinInt32 || high > math.MaxInt32 {
		return "", errNone
	}
	return fmt.Sprintf("random-int(%d, %d)", low, high), nil
}

// oneOf returns the expression that picks one item of (array 'a' 'b').
func oneOf(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) != 1 || c.Args[0].Call == nil || c.Args[0].Call.Name != "array" || len(c.Args[0].Call.Args) == 0 {
		return "", errNone
	}
	var all []string
	for _, a := range c.Args[0].Call.Args {
		switch {
		case !a.Literal:
			return "", errNone
		case a.Quoted:
			all = append(all, language.Quote(a.Text))
		default:
			all = append(all, a.Text)
		}
	}
	return "pick(" + strings.Join(all, ", ") + ")", nil
}

func now(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) != 1 || !c.Args[0].Literal {
		return "", errNone
	}
	layout, known := language.JavaDate(c.Args[0].Text)
	if !known {
		return "", errNone
	}
	return "now|date:" + language.Quote(layout), nil
}

// environment returns the expression of an environment variable. Mockoon provides only variables
// with the prefix MOCKOON_.
func environment(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) == 0 || !c.Args[0].Literal || len(c.Args) > 1 && !c.Args[1].Literal || language.Name(c.Args[0].Text) != c.Args[0].Text || strings.Contains(c.Args[0].Text, "-") {
		return "", errNone
	}
	otherwise := ""
	if len(c.Args) > 1 {
		otherwise = c.Args[1].Text
	}
	name := c.Args[0].Text
	if !strings.HasPrefix(name, "MOCKOON_") {
		name = "MOCKOON_" + name
	}
	return "env." + name + "|default:" + language.Quote(otherwise), nil
}

func join(d *dialect, c *language.Call, s *language.Scope) (string, error) {
	if len(c.Args) != 2 || !c.Args[1].Literal {
		return "", errNone
	}
	operand, err := language.Operand(d, c.Args[0], s)
	return operand + "|join:" + language.Quote(c.Args[1].Text), err
}

// concat returns the expression of joined literals; values of requests have no equivalent.
func concat(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	all := ""
	for _, a := range c.Args {
		if !a.Literal {
			return "", errNone
		}
		all += a.Text
	}
	return language.Quote(all), nil
}

// faker returns the expression for invented data of the kind nearest to the kind of faker.js.
func faker(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) == 0 || !c.Args[0].Quoted {
		return "", errNone
	}
	name := c.Args[0].Text
	switch name {
	case "string.uuid", "datatype.uuid", "random.uuid":
		return "uuid", nil
	case "datatype.boolean", "random.boolean":
		return "pick(true, false)", nil
	case "number.int", "datatype.number", "random.number":
		low, high := 0, 99999
		for key, into := range map[string]*int{"min": &low, "max": &high} {
			if a, ok := c.Hash[key]; ok {
				n, err := strconv.Atoi(a.Text)
				if err != nil || n < math.MinInt32 || n > math.MaxInt32 {
					return "", errNone
				}
				*into = n
			}
		}
		if low > high {
			return "", errNone
		}
		return fmt.Sprintf("random-int(%d, %d)", low, high), nil
	}
	if kind, ok := fakes[name]; ok {
		return fmt.Sprintf("fake(%q)", kind), nil
	}
	return "", errNone
}

// fakes maps the kinds of data of faker.js, under the names of all its versions, to the kinds of
// fake.
var fakes = map[string]string{
	"person.firstName": "firstname", "name.firstName": "firstname", "person.lastName": "lastname", "name.lastName": "lastname",
	"person.fullName": "name", "name.fullName": "name", "name.findName": "name", "person.jobTitle": "jobtitle", "name.jobTitle": "jobtitle",
	"person.prefix": "nameprefix", "person.suffix": "namesuffix", "person.gender": "gender", "person.sex": "gender",
	"internet.email": "email", "internet.userName": "username", "internet.username": "username", "internet.url": "url", "internet.ip": "ipv4address", "internet.ipv4": "ipv4address",
	"internet.ipv6": "ipv6address", "internet.mac": "macaddress", "internet.domainName": "domainname", "internet.userAgent": "useragent", "internet.emoji": "emoji",
	"location.city": "city", "address.city": "city", "location.country": "country", "address.country": "country", "location.countryCode": "countryabr", "address.countryCode": "countryabr",
	"location.street": "streetname", "address.streetName": "streetname", "location.streetAddress": "street", "address.streetAddress": "street",
	"location.zipCode": "zip", "address.zipCode": "zip", "location.state": "state", "address.state": "state", "location.latitude": "latitude", "address.latitude": "latitude",
	"location.longitude": "longitude", "address.longitude": "longitude", "location.timeZone": "timezone",
	"phone.number": "phone", "phone.phoneNumber": "phone", "company.name": "company", "company.companyName": "company", "company.catchPhrase": "slogan", "company.buzzPhrase": "bs",
	"commerce.productName": "productname", "commerce.product": "productname", "commerce.department": "productcategory", "commerce.productMaterial": "productmaterial",
	"commerce.productDescription": "productdescription", "commerce.price": "price", "color.human": "color", "internet.color": "hexcolor", "color.rgb": "hexcolor",
	"date.past": "pastdate", "date.future": "futuredate", "date.recent": "pastdate", "date.soon": "futuredate", "date.month": "monthstring", "date.weekday": "weekday",
	"lorem.word": "loremipsumword", "word.noun": "noun", "word.verb": "verb", "word.adjective": "adjective", "hacker.phrase": "hackerphrase", "hacker.noun": "hackernoun",
	"finance.currencyCode": "currencyshort", "finance.currencyName": "currencylong", "finance.creditCardNumber": "creditcardnumber", "finance.accountNumber": "achaccount",
	"system.fileExt": "fileextension", "system.mimeType": "filemimetype", "system.semver": "appversion", "vehicle.manufacturer": "carmaker", "vehicle.model": "carmodel",
	"animal.type": "animaltype", "animal.dog": "dog", "animal.cat": "cat", "animal.bird": "bird", "music.genre": "songgenre", "book.title": "booktitle", "book.author": "bookauthor",
	"internet.password": "uuid", "image.url": "url", "image.avatar": "url", "internet.avatar": "url",
}
