package invent

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"

	"mockserver/config/openapi/text"
)

// What the name of a property tells of its value, where the schema does not.

var (
	givenNames  = []string{"Ann", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Ida", "Jonas", "Karin", "Leo", "Maya", "Noah", "Olivia", "Paul", "Rosa", "Samuel", "Tara", "Victor"}
	familyNames = []string{"Adams", "Baker", "Carter", "Diaz", "Evans", "Fischer", "Garcia", "Hughes", "Ito", "Jensen", "Keller", "Lopez", "Moreau", "Novak", "Olsen", "Patel", "Rossi", "Silva", "Turner", "Weber"}
	colours     = []string{"red", "green", "blue", "yellow", "black", "white"}
	companies   = []string{"Acme Ltd", "Globex Inc", "Initech GmbH", "Northwind SA", "Umbra AG"}
	streets     = []string{"Main Street", "Station Road", "Park Avenue", "Mill Lane", "High Street"}
	words       = []string{"amber", "basic", "cedar", "delta", "ember", "focus", "grove", "harbor", "iris", "jasper", "kernel", "lotus", "maple", "nova", "orbit", "prime", "quartz", "river", "summit", "tulip", "urban", "vertex", "willow", "zephyr"}
)

// Word is a word that means nothing here.
func Word(r *rand.Rand) string { return pick(r, words) }

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// hinted makes the texts that hints ask for, but for those of places.
var hinted = map[string]func(f *Facts) string{
	"email":           func(f *Facts) string { return makeEmail(f, 0, 64) },
	"phone":           func(f *Facts) string { return makePhone(f, 0, 64) },
	"phone digits":    func(f *Facts) string { return makePhone(f, 0, 64)[1:] },
	"name":            (*Facts).fullName,
	"first name":      (*Facts).givenName,
	"last name":       (*Facts).familyName,
	"user name":       (*Facts).userName,
	"file name":       func(f *Facts) string { return pick(f.Rand, words) + ".txt" },
	"link":            func(f *Facts) string { return makeURI(f, 0, 64) },
	"uuid":            func(f *Facts) string { return makeUUID(f, 0, 64) },
	dateHint:          func(f *Facts) string { return makeDate(f, 0, 64) },
	timeHint:          func(f *Facts) string { return makeDateTime(f, 0, 64) },
	"ip":              func(f *Facts) string { return makeIPv4(f, 0, 64) },
	"host":            func(f *Facts) string { return makeHost(f, 0, 64) },
	"version":         func(f *Facts) string { return "1." + strconv.Itoa(f.IntN(10)) + "." + strconv.Itoa(f.IntN(10)) },
	"id":              func(f *Facts) string { return text.Letters(f.Rand, 2) + Digits(f.Rand, 6) },
	"token":           func(f *Facts) string { return text.Letters(f.Rand, 24) },
	"password":        func(f *Facts) string { return makePassword(f, 12, 12) },
	"slug":            func(f *Facts) string { return pick(f.Rand, words) + "-" + pick(f.Rand, words) },
	"street":          func(f *Facts) string { return strconv.Itoa(1+f.IntN(99)) + " " + pick(f.Rand, streets) },
	"zip digits":      func(f *Facts) string { return Digits(f.Rand, 5) },
	"sentence":        sentence,
	"company":         oneOf(companies),
	"colour":          oneOf(colours),
	"money":           func(f *Facts) string { return string(spans["amount"].Number(f.Rand, false)) },
	"latitude":        func(f *Facts) string { return string(spans["latitude"].Number(f.Rand, false)) },
	"longitude":       func(f *Facts) string { return string(spans["longitude"].Number(f.Rand, false)) },
	"percent":         func(f *Facts) string { return strconv.Itoa(f.IntN(101)) },
	"job title":       func(f *Facts) string { return f.faker().JobTitle() },
	"product name":    func(f *Facts) string { return f.faker().ProductName() },
	"currency name":   func(f *Facts) string { return f.faker().CurrencyLong() },
	"user agent":      func(f *Facts) string { return f.faker().UserAgent() },
	"lower case name": func(f *Facts) string { return f.account("") },
}

// hints are what the words ask for that properties are named with: their last two or their
// last. Each hint is named by itself, too.
var hints = func() map[string]string {
	all := wordsOf(hintWords)
	for hint := range hintWords {
		all[hint] = hint
	}
	return all
}()

var hintWords = map[string][]string{
	"email":           {"mail", "email address", "mail address"},
	"phone":           {"mobile", "telephone", "fax", "phone number", "mobile number", "telephone number"},
	"name":            {"fullname", "displayname"},
	"first name":      {"given name", "firstname", "givenname", "forename", "nickname", "middle name"},
	"last name":       {"family name", "lastname", "familyname", "surname"},
	"user name":       {"username", "login"},
	"file name":       {"filename"},
	"link":            {"url", "uri", "href", "website", "homepage", "avatar", "image"},
	"uuid":            {"guid"},
	"ip":              {"ip address"},
	"host":            {"hostname", "domain", "host name", "domain name"},
	"version":         nil,
	"id":              nil,
	"token":           nil,
	"password":        nil,
	"slug":            nil,
	"street":          {"address", "street address", "street name"},
	"sentence":        {"title", "subject", "description", "message", "summary", "comment", "text"},
	"company":         {"organization", "organisation", "employer", "company name", "organization name", "organisation name", "business name"},
	"colour":          {"color", "color name"},
	"money":           {"amount", "balance", "cost", "fee", "price", "subtotal"},
	"latitude":        {"lat"},
	"longitude":       {"lng", "lon"},
	"percent":         {"percentage", "pct"},
	"job title":       {"occupation", "profession"},
	"product name":    nil,
	"user agent":      nil,
	"city":            {"town", "city name"},
	"state":           nil,
	"region":          {"province", "state name", "region name"},
	"country":         {"country name"},
	"country code":    {"countrycode", "iso 3166", "3166 1", "alpha 2", "alpha2", "iso2", "country iso", "nationality"},
	"country code 3":  {"alpha 3", "alpha3", "iso3"},
	"zip":             {"postcode", "post code", "postal code", "zip code", "zipcode", "postalcode"},
	"currency":        {"currency code", "currencycode", "currency iso", "iso 4217", "iso4217"},
	"currency symbol": {"currencysymbol"},
	"currency name":   nil,
	"time zone":       {"timezone", "tz", "zone id", "zone info"},
	"locale":          {"locale code", "language tag", "bcp 47", "bcp47"},
	"language":        {"lang", "language code", "iso 639", "639 1"},
	"calling code":    {"dial code", "phone prefix", "phone code", "dialing code"},
}

// otherForms are the hints that a hint may stand for too: a country may be a code.
var otherForms = map[string][]string{
	"country": {"country code", "country code 3"}, "country code": {"country code 3", "country"},
	"language": {"locale"}, "locale": {"language"}, "zip": {"zip digits"},
	"phone": {"phone digits"}, "user name": {"lower case name"},
}

// oneOf returns a function that picks one of a list.
func oneOf(list []string) func(f *Facts) string {
	return func(f *Facts) string { return pick(f.Rand, list) }
}

// sentence is three words, the first with a capital letter.
func sentence(f *Facts) string {
	first := pick(f.Rand, words)
	return strings.ToUpper(first[:1]) + first[1:] + " " + pick(f.Rand, words) + " " + pick(f.Rand, words)
}

// Hint is what the name of a property asks for; "" for nothing.
func (f *Facts) Hint(name string) string {
	hint := hintOf(nameWords(name))
	if hint == "state" && !f.inAddress() {
		return ""
	}
	return hint
}

// hintOf is what words ask for: their last two, or the last.
func hintOf(split []string) string {
	if len(split) == 0 {
		return ""
	}
	if len(split) > 1 {
		if hint, ok := hints[split[len(split)-2]+" "+split[len(split)-1]]; ok {
			return hint
		}
	}
	if hint := timeHintOf(split); hint != "" {
		return hint
	}
	return hints[split[len(split)-1]]
}

// Tries is how many texts there are of a hint that are worth trying.
func Tries(hint string) int { return len(otherForms[hint]) + 2 }

// Text is the text that a hint asks for; false when there is none. Further tries make its
// other forms, and then others that need not fit what stands beside.
func (f *Facts) Text(hint string, try int) (string, bool) {
	switch forms := otherForms[hint]; {
	case try > len(forms):
		f = f.Alone()
	case try > 0:
		hint = forms[try-1]
	}
	if of := placeHints[hint]; of != nil {
		return of(f.place()), true
	}
	if of := hinted[hint]; of != nil {
		return of(f), true
	}
	return "", false
}

// nameWords are the words of firstName, first_name, first-name and FIRST_NAME, in lower case.
func nameWords(name string) []string {
	var split []string
	start, lower := 0, false
	for i, c := range name {
		switch {
		case c == '_' || c == '-' || c == '.' || c == ' ':
			split = appendWord(split, name[start:i])
			start = i + 1
		case lower && unicode.IsUpper(c):
			split = appendWord(split, name[start:i])
			start = i
		}
		lower = unicode.IsLower(c) || unicode.IsDigit(c)
	}
	return appendWord(split, name[start:])
}

// plainName is a name in small letters, without what parts its words.
func plainName(name string) string { return strings.Join(nameWords(name), "") }

func appendWord(split []string, word string) []string {
	if word == "" {
		return split
	}
	return append(split, strings.ToLower(word))
}
