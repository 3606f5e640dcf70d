package mockoon

import "mockserver/config/imports/language"

var (
	get    = language.Get
	text   = language.Text
	items  = language.Items
	isTrue = language.IsTrue
)
