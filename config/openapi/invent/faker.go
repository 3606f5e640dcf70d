package invent

import "github.com/brianvoe/gofakeit/v7"

// faker is a source of invented data that draws from the same seed.
func (f *Facts) faker() *gofakeit.Faker { return gofakeit.NewFaker(f.Rand, false) }
