package imports

import (
	"mockserver/config/imports/curl"
	"mockserver/config/imports/draft"
	"mockserver/config/imports/traffic"
)

// formats are all formats, the most certainly recognized first.
var formats = []format{
	{"a recording", traffic.RecognizesRecording, (*maker).addRecording},
	{"a HAR", traffic.RecognizesHAR, (*maker).addHAR},
	{"curl commands", curl.Recognizes, each(curl.Read)},
}

func (m *maker) addRecording(s *draft.Source) error { return m.traffic.AddRecording(s) }

func (m *maker) addHAR(s *draft.Source) error { return m.traffic.AddHAR(s) }
