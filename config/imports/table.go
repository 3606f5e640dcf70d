package imports

import (
	"mockserver/config/imports/curl"
	"mockserver/config/imports/draft"
	"mockserver/config/imports/jsonserver"
	"mockserver/config/imports/mockoon"
	"mockserver/config/imports/postman"
	"mockserver/config/imports/traffic"
	"mockserver/config/imports/wiremock"
)

// formats lists all formats, the most reliably recognized first.
var formats = []format{
	{"a recording", traffic.RecognizesRecording, func(m *maker, s *draft.Source) error { return m.traffic.AddRecording(s) }},
	{"a HAR", traffic.RecognizesHAR, func(m *maker, s *draft.Source) error { return m.traffic.AddHAR(s) }},
	{"curl commands", curl.Recognizes, each(curl.Read)},
	{"mappings of WireMock", wiremock.Recognizes, each(wiremock.Read)},
	{"an environment of Mockoon", mockoon.Recognizes, each(mockoon.Read)},
	{"a Postman collection", postman.Recognizes, each(postman.Read)},
	{"a db.json of json-server", jsonserver.Recognizes, each(jsonserver.Read)},
}
