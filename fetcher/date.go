package fetcher

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// shows says which parts of a date a number format shows; 0 if it shows no date.
type shows uint8

const (
	showsDay shows = 1 << iota
	showsTime
	showsElapsed // hours may exceed 24, as in [h]:mm
)

// builtinFormat returns which parts of a date are shown by a number format that a workbook
// identifies only by its number (ECMA-376 part 1, 18.8.30). Formats from 27 are for East Asia and
// Thailand; if they differ between languages, no part of the value is omitted.
func builtinFormat(id int) shows {
	switch id {
	case 14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 54, 57, 58, 71, 72, 73, 74, 81:
		return showsDay
	case 18, 19, 20, 21, 32, 33, 45, 47, 75, 76, 78, 80:
		return showsTime
	case 22, 34, 35, 52, 53, 55, 56, 77:
		return showsDay | showsTime
	case 46, 79:
		return showsTime | showsElapsed
	}
	return 0
}

// customFormat returns which parts of a date are shown by a number format that a workbook spells
// out, such as yyyy-mm-dd or [Red]0.00;"none". Its first section is for positive numbers, and dates
// are positive.
func customFormat(code string) shows {
	letters, elapsed := formatLetters(strings.ToLower(code))
	if letters == "general" {
		return 0
	}
	for _, half := range []string{"am/pm", "a/p"} {
		if strings.Contains(letters, half) {
			elapsed |= showsTime
			letters = strings.ReplaceAll(letters, half, "")
		}
	}
	// The e of 0.00E+00 is an exponent; any other e is a year.
	letters = strings.NewReplacer("e+", "", "e-", "").Replace(letters)
	found := elapsed
	if strings.ContainsAny(letters, "hs") {
		found |= showsTime
	}
	if strings.ContainsAny(letters, "ydeg") || strings.Contains(letters, "mmm") {
		found |= showsDay
	}
	if found == 0 && strings.Contains(letters, "m") {
		found = showsDay // a month; next to hours or seconds it would be minutes
	}
	return found
}

// formatLetters returns the first section of a number format without literal and bracketed text,
// and whether a bracket contains an elapsed time.
func formatLetters(code string) (letters string, elapsed shows) {
	var b strings.Builder
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case ';':
			return b.String(), elapsed
		case '\\', '_', '*': // the next character is a literal, a width or a filler
			i++
		case '"':
			literal, _, _ := strings.Cut(code[i+1:], `"`)
			i += len(literal) + 1
		case '[':
			inside, _, _ := strings.Cut(code[i+1:], "]")
			switch inside {
			case "h", "hh", "m", "mm", "s", "ss":
				elapsed = showsTime | showsElapsed
			}
			i += len(inside) + 1
		default:
			b.WriteByte(code[i])
		}
	}
	return b.String(), elapsed
}

// epoch is the day from which a workbook counts days.
type epoch bool

const (
	since1900 epoch = false
	since1904 epoch = true
)

const (
	msPerDay = 24 * 60 * 60 * 1000
	// lastDay is 9999-12-31, the last day of spreadsheets, counted from 1900.
	lastDay = 2958465
	// phantomDay is 29 February 1900, which spreadsheets count although it did not exist.
	phantomDay = 60
)

// format returns a number of days as ISO 8601 text, to the millisecond. It returns false if the
// format shows no date, or the number is not a date in a spreadsheet.
func (e epoch) format(days float64, show shows) (string, bool) {
	if show == 0 || !(days >= 0 && days < lastDay+1) {
		return "", false
	}
	whole := math.Floor(days)
	ms := int64(math.Round((days - whole) * msPerDay))
	day := int64(whole) + ms/msPerDay
	ms %= msPerDay
	clock := clockText(ms)
	switch {
	case show&showsDay == 0 && show&showsElapsed != 0:
		return clockText(day*msPerDay + ms), true
	case show&showsDay == 0:
		return clock, true
	case show&showsTime == 0:
		return e.date(day), true
	default:
		return e.date(day) + "T" + clock, true
	}
}

// date returns a day as text.
func (e epoch) date(day int64) string {
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case e == since1904:
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case day < phantomDay:
		first = first.AddDate(0, 0, 1)
	}
	return first.AddDate(0, 0, int(day)).Format(time.DateOnly)
}

// clockText returns a time as hours, minutes and seconds, with milliseconds if there are any.
func clockText(ms int64) string {
	text := fmt.Sprintf("%02d:%02d:%02d", ms/3_600_000, ms/60_000%60, ms/1000%60)
	if rest := ms % 1000; rest != 0 {
		text += fmt.Sprintf(".%03d", rest)
	}
	return text
}
