package invent

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/brianvoe/gofakeit/v7"

	"mockserver/config/openapi/jsonvalue"
)

// ownFakers maps names without word separators to the hints of this package.
var ownFakers = sync.OnceValue(func() map[string]string {
	all := map[string]string{dateHint: dateHint, timeHint: timeHint, "timestamp": timeHint}
	for name, hint := range known().hints {
		all[plainName(name)] = hint
	}
	return all
})

// Fake returns the data that faker.js or gofakeit makes under a name, as a JSON value. If date is
// set, a time is reduced to its date. The name is in lower case without separators. Fake returns
// false for an unknown name.
func (f *Facts) Fake(key string, date bool, args *jsonvalue.Object) (any, bool) {
	if word, ok := known().FakerTimes[key]; ok {
		near := *f
		near.Name = word
		if date {
			return near.moment().Format(time.DateOnly), true
		}
		return near.moment().Format(time.RFC3339), true
	}
	if other, ok := known().Fakers[key]; ok {
		key = other
	}
	if hint, ok := ownFakers()[key]; ok {
		return f.Text(hint, 0)
	}
	return f.invented(key, args)
}

// faker returns a source of invented data that draws its random numbers from f.Rand.
func (f *Facts) faker() *gofakeit.Faker { return gofakeit.NewFaker(f.Rand, false) }

// invented returns the value that gofakeit makes under a name. It returns false for an unknown name
// and when gofakeit fails; the library panics when a parameter is missing.
func (f *Facts) invented(key string, args *jsonvalue.Object) (v any, ok bool) {
	info := gofakeit.GetFuncLookup(key)
	if info == nil {
		return nil, false
	}
	defer func() {
		if recover() != nil {
			v, ok = nil, false
		}
	}()
	params := gofakeit.NewMapParams()
	for _, m := range args.Members {
		params.Add(strings.ToLower(m.Name), argument(m.Value))
	}
	made, err := info.Generate(f.faker(), params, info)
	if err != nil {
		return nil, false
	}
	text, err := json.Marshal(made)
	if err != nil {
		return nil, false
	}
	v, err = jsonvalue.Parse(text)
	return v, err == nil
}

func argument(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(jsonvalue.Append(nil, v))
}
