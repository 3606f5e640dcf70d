package reply

import (
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// AppendHead appends the head of the reply as fasthttp writes it, for a request in HTTP/1.1 other
// than HEAD on a connection that stays open. None of its fields may be one that fasthttp handles
// separately, except Set-Cookie. The date is in the format of the Date header.
func (p *Reply) AppendHead(b, date []byte) []byte {
	if p.Status == fasthttp.StatusOK {
		b = append(b, "HTTP/1.1 200 OK\r\nDate: "...)
	} else {
		b = append(b, "HTTP/1.1 "...)
		b = strconv.AppendInt(b, int64(p.Status), 10)
		b = append(b, ' ')
		b = append(b, fasthttp.StatusMessage(p.Status)...)
		b = append(b, "\r\nDate: "...)
	}
	b = append(b, date...)
	if p.ContentType != "" {
		b = append(b, "\r\nContent-Type: "...)
		b = append(b, p.ContentType...)
	}
	if p.Status != fasthttp.StatusNoContent && p.Status != fasthttp.StatusNotModified {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(p.Body)), 10)
	}
	cookies := false
	for i := range p.Fields {
		if isCookie(p.Fields[i].Name) {
			cookies = true
			continue
		}
		b = appendField(b, p.Fields[i].Name, p.Fields[i].Value)
	}
	if cookies { // after all other fields
		for i := range p.Fields {
			if isCookie(p.Fields[i].Name) {
				b = appendField(b, fasthttp.HeaderSetCookie, p.Fields[i].Value)
			}
		}
	}
	return append(b, "\r\n\r\n"...)
}

// AppendPassedHead appends the head of an answer from another server. If coded is true, the body is
// sent in chunks; connection is the value of Connection, or "" if none.
func (p *Reply) AppendPassedHead(b, date []byte, coded bool, connection string) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(p.Status), 10)
	b = append(append(b, ' '), p.Passed.Reason...)
	dated := false
	for i := range p.Fields {
		f := &p.Fields[i]
		dated = dated || strings.EqualFold(f.Name, fasthttp.HeaderDate)
		b = appendField(b, f.Name, f.Value)
	}
	if p.ContentType != "" {
		b = appendField(b, fasthttp.HeaderContentType, p.ContentType)
	}
	if !dated { // RFC 9110 section 6.6.1
		b = append(append(b, "\r\nDate: "...), date...)
	}
	switch {
	case coded:
		b = appendField(b, fasthttp.HeaderTransferEncoding, "chunked")
	case p.Passed.Length >= 0:
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, p.Passed.Length, 10)
	}
	if connection != "" {
		b = appendField(b, fasthttp.HeaderConnection, connection)
	}
	return append(b, "\r\n\r\n"...)
}

func isCookie(name string) bool {
	return len(name) == len(fasthttp.HeaderSetCookie) && strings.EqualFold(name, fasthttp.HeaderSetCookie)
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, "\r\n"...)
	b = append(b, name...)
	b = append(b, ": "...)
	return append(b, value...)
}

// IsSpecial reports whether fasthttp stores a header field separately from other fields.
func IsSpecial(name string) bool {
	for _, special := range [...]string{
		fasthttp.HeaderContentType, fasthttp.HeaderContentEncoding, fasthttp.HeaderContentLength, fasthttp.HeaderConnection, fasthttp.HeaderServer,
		fasthttp.HeaderTransferEncoding, fasthttp.HeaderTrailer, fasthttp.HeaderDate,
	} {
		if strings.EqualFold(name, special) {
			return true
		}
	}
	return false
}
