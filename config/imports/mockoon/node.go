package mockoon

import "mockserver/config/imports/language"

var (
	get    = language.Get
	text   = language.Text
	isTrue = language.IsTrue
)
