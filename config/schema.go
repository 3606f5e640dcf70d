package config

import "mockserver/config/table"

// Schema returns the JSON Schema of the configuration language (draft 7, which
// editors know whole), as indented JSON text. It describes one document: what a YAML,
// JSON or EDN file holds.
//
// It is made of the tables that decoding goes by. Whatever Load accepts is valid
// by it; the reverse holds as far as the tables say it, so rules across keys,
// templates, conditions and other files are for Load alone.
func Schema() []byte {
	return table.Schema("Configuration of mockserver", "a list of endpoints", table.Rows(itemFields))
}

// The tables of this package use these types of package table.
type (
	row     = table.Row
	value   = table.Value
	decoder = table.Decoder
)
