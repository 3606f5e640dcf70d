package fetcher

import (
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

func TestNumberFormats(t *testing.T) {
	for _, tt := range []struct {
		code string
		want shows
	}{
		{"General", 0}, {"0.00", 0}, {"#,##0", 0}, {"@", 0}, {"0%", 0}, {"", 0},
		{"0.00E+00", 0}, {"##0.0E-0", 0},
		{`0 "days"`, 0}, {`0 \d\a\y\s`, 0}, {"[Red]0.00", 0}, {"[Magenta]0", 0}, {`[$-409]0`, 0}, {`_d0`, 0}, {`*s0`, 0},
		{`"my"0;"year"`, 0}, {`0;yyyy`, 0}, {`"never closed y`, 0}, {`[never closed y`, 0},
		{"yyyy-mm-dd", showsDay}, {"d/m/yy", showsDay}, {"mmm", showsDay}, {"m", showsDay}, {"mmmm yyyy", showsDay},
		{"dddd", showsDay}, {"[$-F800]dddd, mmmm dd, yyyy", showsDay}, {"DD.MM.YYYY", showsDay}, {`yyyy"年"m"月"d"日"`, showsDay},
		{"[$-411]ggge.m.d", showsDay}, {"yyyy;@", showsDay}, {"[Blue]d-mmm", showsDay},
		{"h:mm", showsTime}, {"hh:mm:ss", showsTime}, {"mm:ss.0", showsTime}, {"h:mm AM/PM", showsTime}, {"h A/P", showsTime}, {`h"h "m`, showsTime},
		{"yyyy-mm-dd hh:mm", showsDay | showsTime}, {`yyyy\-mm\-dd\Thh:mm:ss`, showsDay | showsTime}, {"d.m.yy h:mm AM/PM", showsDay | showsTime},
		{"[h]:mm", showsTime | showsElapsed}, {"[mm]:ss", showsTime | showsElapsed}, {"[ss]", showsTime | showsElapsed}, {"[HH]", showsTime | showsElapsed},
	} {
		if got := customFormat(tt.code); got != tt.want {
			t.Errorf("customFormat(%q) = %b, want %b", tt.code, got, tt.want)
		}
	}
	for id, want := range map[int]shows{0: 0, 1: 0, 11: 0, 13: 0, 14: showsDay, 17: showsDay, 18: showsTime, 21: showsTime, 22: showsDay | showsTime,
		23: 0, 31: showsDay, 32: showsTime, 37: 0, 44: 0, 45: showsTime, 46: showsTime | showsElapsed, 47: showsTime, 48: 0, 49: 0, 57: showsDay, 59: 0, 81: showsDay, 82: 0, -1: 0} {
		if got := builtinFormat(id); got != want {
			t.Errorf("builtinFormat(%d) = %b, want %b", id, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	both := showsDay | showsTime
	for _, tt := range []struct {
		name  string
		epoch epoch
		days  float64
		show  shows
		want  string // "" if it is not a date
	}{
		{"a day", since1900, 45306, showsDay, "2024-01-15"},
		{"a day whose time is not shown", since1900, 45306.4375, showsDay, "2024-01-15"},
		{"a day and a time", since1900, 45306.4375, both, "2024-01-15T10:30:00"},
		{"midnight is shown where a time is", since1900, 45306, both, "2024-01-15T00:00:00"},
		{"a time", since1900, 0.4375, showsTime, "10:30:00"},
		{"a time of some day", since1900, 45306.4375, showsTime, "10:30:00"},
		{"milliseconds", since1900, 0.4375 + 0.25/86400, showsTime, "10:30:00.250"},
		{"just before midnight, rounded up", since1900, 45305.9999999999, both, "2024-01-15T00:00:00"},
		{"thirty hours", since1900, 1.25, showsTime | showsElapsed, "30:00:00"},
		{"the first day", since1900, 1, showsDay, "1900-01-01"},
		{"the day before the one that never was", since1900, 59, showsDay, "1900-02-28"},
		{"the day after it", since1900, 61, showsDay, "1900-03-01"},
		{"the last day", since1900, 2958465, showsDay, "9999-12-31"},
		{"after the last day", since1900, 2958466, showsDay, ""},
		{"before the first day", since1900, -1, showsDay, ""},
		{"the first day since 1904", since1904, 0, showsDay, "1904-01-01"},
		{"a day since 1904", since1904, 43844, showsDay, "2024-01-15"},
		{"not shown as a date", since1900, 45306, 0, ""},
	} {
		got, ok := tt.epoch.format(tt.days, tt.show)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: format(%v) = %q, %v; want %q", tt.name, tt.days, got, ok, tt.want)
		}
	}
}

// FuzzDates compares dates with the library's own calculation.
func FuzzDates(f *testing.F) {
	f.Add(45306.4375, false)
	f.Add(59.999999, false)
	f.Add(0.0, true)
	f.Fuzz(func(t *testing.T, days float64, date1904 bool) {
		got, ok := epoch(date1904).format(days, showsDay|showsTime)
		if !ok {
			return
		}
		if days < 62 {
			return // they differ intentionally here
		}
		want, err := excelize.ExcelDateToTime(days, date1904)
		if err != nil {
			return
		}
		have, err := time.Parse("2006-01-02T15:04:05", got) // also accepts a fraction
		if err != nil {
			t.Fatalf("format(%v) = %q: %v", days, got, err)
		}
		if d := have.Sub(want).Abs(); d > time.Second {
			t.Errorf("format(%v) = %s, the library says %s", days, got, want)
		}
	})
}

// FuzzNumberFormat looks for formats that break the reader; quoted text must never have an effect.
func FuzzNumberFormat(f *testing.F) {
	for _, seed := range []string{"yyyy", `"`, `[`, `\`, "[h", "_", "é[h]", `0"x"[`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		customFormat(code)
		if got := customFormat(`0"` + strings.ReplaceAll(code, `"`, "") + `"`); got != 0 {
			t.Errorf("a quoted %q shows %b", code, got)
		}
	})
}
