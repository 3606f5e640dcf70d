package invent

import (
	"strconv"
	"strings"

	"mockserver/config/openapi/text"
)

// These tables derive a value from the name of a property when the schema does not describe it.

// hinted maps hints to functions that make their texts, except for those that a place has or that are
// formats.
var hinted = map[string]func(f *Facts) string{
	"phone digits":    func(f *Facts) string { return formats["phone"](f, 0, 64)[1:] },
	"name":            func(f *Facts) string { return f.person().given + " " + f.person().family },
	"first name":      func(f *Facts) string { return f.person().given },
	"last name":       func(f *Facts) string { return f.person().family },
	"user name":       func(f *Facts) string { return strings.ToLower(f.person().given[:1] + f.person().family) },
	"file name":       func(f *Facts) string { return Word(f.Rand) + ".txt" },
	"version":         func(f *Facts) string { return "1." + strconv.Itoa(f.IntN(10)) + "." + strconv.Itoa(f.IntN(10)) },
	"id":              func(f *Facts) string { return text.Letters(f.Rand, 2) + Digits(f.Rand, 6) },
	"token":           func(f *Facts) string { return text.Letters(f.Rand, 24) },
	"slug":            func(f *Facts) string { return Word(f.Rand) + "-" + Word(f.Rand) },
	"street":          func(f *Facts) string { return strconv.Itoa(1+f.IntN(99)) + " " + pick(f.Rand, "streets") },
	"zip digits":      func(f *Facts) string { return Digits(f.Rand, 5) },
	"sentence":        sentence,
	"company":         oneOf("companies"),
	"colour":          oneOf("colours"),
	"money":           func(f *Facts) string { return string(known().Numbers["amount"].Number(f.Rand, false)) },
	"latitude":        func(f *Facts) string { return string(known().Numbers["latitude"].Number(f.Rand, false)) },
	"longitude":       func(f *Facts) string { return string(known().Numbers["longitude"].Number(f.Rand, false)) },
	"percent":         func(f *Facts) string { return strconv.Itoa(f.IntN(101)) },
	"job title":       func(f *Facts) string { return f.faker().JobTitle() },
	"product name":    func(f *Facts) string { return f.faker().ProductName() },
	"currency name":   func(f *Facts) string { return f.faker().CurrencyLong() },
	"user agent":      func(f *Facts) string { return f.faker().UserAgent() },
	"lower case name": func(f *Facts) string { return f.account("") },
}

// oneOf returns a function that picks one text from a list.
func oneOf(list string) func(f *Facts) string {
	return func(f *Facts) string { return pick(f.Rand, list) }
}

// sentence returns three words, the first with a capital letter.
func sentence(f *Facts) string {
	first := Word(f.Rand)
	return strings.ToUpper(first[:1]) + first[1:] + " " + Word(f.Rand) + " " + Word(f.Rand)
}

// hintOf returns the hint for the last two words or the last word; "" for none.
func hintOf(split []string) string {
	if len(split) == 0 {
		return ""
	}
	if len(split) > 1 {
		if hint, ok := known().hints[split[len(split)-2]+" "+split[len(split)-1]]; ok {
			return hint
		}
	}
	if hint := timeHintOf(split); hint != "" {
		return hint
	}
	return known().hints[split[len(split)-1]]
}

// Hint returns the hint for the value of a property with a name; "" for none.
func (f *Facts) Hint(name string) string {
	hint := hintOf(nameWords(name))
	if hint == "state" && !f.inAddress() {
		return ""
	}
	return hint
}

// Tries returns how many texts for a hint are worth trying.
func Tries(hint string) int { return len(known().OtherForms[hint]) + 2 }

// Text returns a text for a hint; false when there is none. Further tries return texts for the
// other forms of the hint, and then texts that need not fit the other properties.
func (f *Facts) Text(hint string, try int) (string, bool) {
	switch forms := known().OtherForms[hint]; {
	case try > len(forms):
		f = f.Alone()
	case try > 0:
		hint = forms[try-1]
	}
	if hasPlace(hint) {
		return f.place()[hint], true
	}
	if of := hinted[hint]; of != nil {
		return of(f), true
	}
	if of := formats[hint]; of != nil {
		return of(f, 0, 64), true
	}
	return "", false
}
