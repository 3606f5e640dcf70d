package reply

import (
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// AppendHead appends the head of the reply as fasthttp writes it, for a request in HTTP/1.1 other
// than HEAD, or the head of an answer from another server. None of the fields of the former may be
// one that fasthttp handles separately, except Set-Cookie, which follows all others. The date is in
// the format of the Date header, and connection is the value of Connection; "" for none.
func (p *Reply) AppendHead(b, date []byte, connection string) []byte {
	if p.Status == fasthttp.StatusOK && p.Passed == nil {
		b = append(b, "HTTP/1.1 200 OK"...)
	} else {
		b = strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(p.Status), 10)
		b = append(append(b, ' '), p.reason()...)
	}
	if p.Passed == nil && !p.Streamed || !p.Has(fasthttp.HeaderDate) { // RFC 9110 section 6.6.1
		b = append(append(b, "\r\nDate: "...), date...)
	}
	if p.ContentType != "" {
		b = append(append(b, "\r\nContent-Type: "...), p.ContentType...)
	}
	if n := p.Length(); n >= 0 {
		b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), n, 10)
	}
	cookies := false
	for i := range p.Fields {
		if p.Passed == nil && isCookie(p.Fields[i].Name) {
			cookies = true
			continue
		}
		b = appendField(b, p.Fields[i].Name, p.Fields[i].Value)
	}
	if connection != "" && connection != "close" {
		b = appendField(b, fasthttp.HeaderConnection, connection)
	}
	if cookies {
		for i := range p.Fields {
			if isCookie(p.Fields[i].Name) {
				b = appendField(b, fasthttp.HeaderSetCookie, p.Fields[i].Value)
			}
		}
	}
	if connection == "close" {
		b = appendField(b, fasthttp.HeaderConnection, connection)
	}
	return append(b, "\r\n\r\n"...)
}

func (p *Reply) reason() string {
	if p.Passed != nil {
		return p.Passed.Reason
	}
	return fasthttp.StatusMessage(p.Status)
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
