package invent

// hints maps the last two words, or the last word, of a property's name to the hint for its value.
// Each hint also maps to itself.
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
	"uri":             {"url", "link", "href", "website", "homepage", "avatar", "image"},
	"uuid":            {"guid"},
	"ip":              {"ip address"},
	"hostname":        {"host", "domain", "host name", "domain name"},
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

// otherForms maps a hint to other hints that may be meant: "country" may mean a country code.
var otherForms = map[string][]string{
	"country": {"country code", "country code 3"}, "country code": {"country code 3", "country"},
	"language": {"locale"}, "locale": {"language"}, "zip": {"zip digits"},
	"phone": {"phone digits"}, "user name": {"lower case name"},
}

// hintOf returns the hint for the last two words or the last word; "" for none.
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
