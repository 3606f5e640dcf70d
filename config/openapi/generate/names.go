package generate

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"

	"mockserver/config/openapi/text"
)

// Values for properties whose name says more about them than the schema does.

var (
	givenNames  = []string{"Ann", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Hugo", "Ida", "Jonas", "Karin", "Leo", "Maya", "Noah", "Olivia", "Paul", "Rosa", "Samuel", "Tara", "Victor"}
	familyNames = []string{"Adams", "Baker", "Carter", "Diaz", "Evans", "Fischer", "Garcia", "Hughes", "Ito", "Jensen", "Keller", "Lopez", "Moreau", "Novak", "Olsen", "Patel", "Rossi", "Silva", "Turner", "Weber"}
	cities      = []string{"Amsterdam", "Berlin", "Chicago", "Dublin", "Geneva", "Helsinki", "Lisbon", "Madrid", "Oslo", "Prague", "Toronto", "Vienna"}
	countries   = []string{"Austria", "Brazil", "Canada", "Denmark", "France", "Germany", "India", "Japan", "Norway", "Spain"}
	codes       = []string{"AT", "BR", "CA", "DE", "DK", "ES", "FR", "IN", "JP", "NO"}
	currencies  = []string{"EUR", "USD", "GBP", "JPY", "CHF"}
	languages   = []string{"en", "de", "fr", "es", "it"}
	colours     = []string{"red", "green", "blue", "yellow", "black", "white"}
	companies   = []string{"Acme Ltd", "Globex Inc", "Initech GmbH", "Northwind SA", "Umbra AG"}
	streets     = []string{"Main Street", "Station Road", "Park Avenue", "Mill Lane", "High Street"}
	words       = []string{"amber", "basic", "cedar", "delta", "ember", "focus", "grove", "harbor", "iris", "jasper", "kernel", "lotus", "maple", "nova", "orbit", "prime", "quartz", "river", "summit", "tulip", "urban", "vertex", "willow", "zephyr"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// hinted generates strings that match the last word or the last two words of a property name.
var hinted = map[string]func(r *rand.Rand) string{
	"email":        func(r *rand.Rand) string { return makeEmail(r, 0, 64) },
	"mail":         func(r *rand.Rand) string { return makeEmail(r, 0, 64) },
	"phone":        func(r *rand.Rand) string { return makePhone(r, 0, 64) },
	"mobile":       func(r *rand.Rand) string { return makePhone(r, 0, 64) },
	"name":         func(r *rand.Rand) string { return pick(r, givenNames) + " " + pick(r, familyNames) },
	"file name":    func(r *rand.Rand) string { return pick(r, words) + ".txt" },
	"filename":     func(r *rand.Rand) string { return pick(r, words) + ".txt" },
	"city":         oneOf(cities),
	"country":      oneOf(countries),
	"country code": oneOf(codes),
	"currency":     oneOf(currencies),
	"url":          link, "uri": link, "href": link, "link": link, "website": link, "homepage": link, "avatar": link, "image": link,
	"uuid":       func(r *rand.Rand) string { return makeUUID(r, 0, 64) },
	"date":       func(r *rand.Rand) string { return makeDate(r, 0, 64) },
	"timestamp":  func(r *rand.Rand) string { return makeDateTime(r, 0, 64) },
	"at":         func(r *rand.Rand) string { return makeDateTime(r, 0, 64) },
	"ip":         func(r *rand.Rand) string { return makeIPv4(r, 0, 64) },
	"hostname":   func(r *rand.Rand) string { return makeHost(r, 0, 64) },
	"host":       func(r *rand.Rand) string { return makeHost(r, 0, 64) },
	"domain":     func(r *rand.Rand) string { return makeHost(r, 0, 64) },
	"version":    func(r *rand.Rand) string { return "1." + strconv.Itoa(r.IntN(10)) + "." + strconv.Itoa(r.IntN(10)) },
	"id":         func(r *rand.Rand) string { return text.Letters(r, 2) + digits(r, 6) },
	"token":      func(r *rand.Rand) string { return text.Letters(r, 24) },
	"password":   func(r *rand.Rand) string { return makePassword(r, 12, 12) },
	"slug":       func(r *rand.Rand) string { return pick(r, words) + "-" + pick(r, words) },
	"first name": oneOf(givenNames), "given name": oneOf(givenNames),
	"last name": oneOf(familyNames), "family name": oneOf(familyNames), "surname": oneOf(familyNames),
	"user name": userName, "username": userName, "login": userName,
	"street": streetAddress, "address": streetAddress,
	"zip": zipCode, "postcode": zipCode, "postal code": zipCode, "zip code": zipCode,
	"title": sentence, "subject": sentence, "description": sentence, "message": sentence, "summary": sentence, "comment": sentence, "text": sentence,
	"company": oneOf(companies), "organization": oneOf(companies),
	"language": oneOf(languages), "locale": oneOf(languages),
	"color": oneOf(colours), "colour": oneOf(colours),
}

// oneOf returns a function that picks an element of a list.
func oneOf(list []string) func(r *rand.Rand) string {
	return func(r *rand.Rand) string { return pick(r, list) }
}

func userName(r *rand.Rand) string {
	return strings.ToLower(pick(r, givenNames)) + strconv.Itoa(10+r.IntN(90))
}

func streetAddress(r *rand.Rand) string { return strconv.Itoa(1+r.IntN(99)) + " " + pick(r, streets) }

func zipCode(r *rand.Rand) string { return digits(r, 5) }

func link(r *rand.Rand) string { return makeURI(r, 0, 64) }

// sentence returns three words, the first one capitalized.
func sentence(r *rand.Rand) string {
	first := pick(r, words)
	return strings.ToUpper(first[:1]) + first[1:] + " " + pick(r, words) + " " + pick(r, words)
}

// hintedText returns a string that fits the name of a property.
func hintedText(r *rand.Rand, name string) (string, bool) {
	split := nameWords(name)
	if len(split) == 0 {
		return "", false
	}
	if len(split) > 1 {
		if f, ok := hinted[strings.Join(split[len(split)-2:], " ")]; ok {
			return f(r), true
		}
	}
	last := split[len(split)-1]
	if last == "at" && len(split) == 1 {
		return "", false
	}
	if f, ok := hinted[last]; ok {
		return f(r), true
	}
	return "", false
}

// nameWords splits firstName, first_name, first-name and FIRST_NAME into lower-case words.
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

func appendWord(split []string, word string) []string {
	if word == "" {
		return split
	}
	return append(split, strings.ToLower(word))
}

// ranges are the usual ranges of numbers by property name.
var ranges = map[string][2]int64{
	"latitude": {-60, 60}, "lat": {-60, 60},
	"longitude": {-120, 120}, "lng": {-120, 120}, "lon": {-120, 120},
	"age":  {18, 80},
	"year": {2000, 2025}, "month": {1, 12}, "day": {1, 28},
	"hour": {0, 23}, "minute": {0, 59}, "second": {0, 59},
	"page":    {1, 5},
	"percent": {0, 100}, "percentage": {0, 100},
	"port":      {1024, 49151},
	"timestamp": {1672531200, 1767225600},
}

// hintedRange returns the usual range of numbers for a property name.
func hintedRange(name string) (low, high int64, ok bool) {
	split := nameWords(name)
	if len(split) == 0 {
		return 0, 0, false
	}
	limits, ok := ranges[split[len(split)-1]]
	return limits[0], limits[1], ok
}
