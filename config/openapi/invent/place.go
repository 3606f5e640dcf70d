package invent

import "strings"

// place is a city with its country, currency, time zone and so on.
type place struct {
	city, region, country string
	code, code3           string // of the country, ISO 3166-1
	zip                   string
	currency, symbol      string // the currency by ISO 4217
	zone, locale          string // by IANA, BCP 47
	phone                 string
}

var places = []place{
	{"Amsterdam", "North Holland", "Netherlands", "NL", "NLD", "1012 JS", "EUR", "€", "Europe/Amsterdam", "nl-NL", "+31"},
	{"Berlin", "Berlin", "Germany", "DE", "DEU", "10115", "EUR", "€", "Europe/Berlin", "de-DE", "+49"},
	{"Chicago", "Illinois", "United States", "US", "USA", "60601", "USD", "$", "America/Chicago", "en-US", "+1"},
	{"Copenhagen", "Capital Region", "Denmark", "DK", "DNK", "1050", "DKK", "kr", "Europe/Copenhagen", "da-DK", "+45"},
	{"Geneva", "Geneva", "Switzerland", "CH", "CHE", "1201", "CHF", "Fr", "Europe/Zurich", "fr-CH", "+41"},
	{"Lisbon", "Lisbon", "Portugal", "PT", "PRT", "1100-148", "EUR", "€", "Europe/Lisbon", "pt-PT", "+351"},
	{"London", "England", "United Kingdom", "GB", "GBR", "EC1A 1BB", "GBP", "£", "Europe/London", "en-GB", "+44"},
	{"Madrid", "Madrid", "Spain", "ES", "ESP", "28013", "EUR", "€", "Europe/Madrid", "es-ES", "+34"},
	{"Mumbai", "Maharashtra", "India", "IN", "IND", "400001", "INR", "₹", "Asia/Kolkata", "en-IN", "+91"},
	{"Oslo", "Oslo", "Norway", "NO", "NOR", "0150", "NOK", "kr", "Europe/Oslo", "nb-NO", "+47"},
	{"Tokyo", "Tokyo", "Japan", "JP", "JPN", "100-0001", "JPY", "¥", "Asia/Tokyo", "ja-JP", "+81"},
	{"Toronto", "Ontario", "Canada", "CA", "CAN", "M5H 2N2", "CAD", "$", "America/Toronto", "en-CA", "+1"},
}

func (p *place) language() string {
	language, _, _ := strings.Cut(p.locale, "-")
	return language
}

// placeHints maps the hints that a place has a value for to functions that return the value.
var placeHints = map[string]func(p *place) string{
	"city":   func(p *place) string { return p.city },
	"region": func(p *place) string { return p.region }, "state": func(p *place) string { return p.region },
	"country": func(p *place) string { return p.country }, "country code": func(p *place) string { return p.code },
	"country code 3": func(p *place) string { return p.code3 },
	"zip":            func(p *place) string { return p.zip },
	"currency":       func(p *place) string { return p.currency }, "currency symbol": func(p *place) string { return p.symbol },
	"time zone": func(p *place) string { return p.zone },
	"locale":    func(p *place) string { return p.locale }, "language": (*place).language,
	"calling code": func(p *place) string { return p.phone },
}
