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

func isCookie(name string) bool {
	return len(name) == len(fasthttp.HeaderSetCookie) && strings.EqualFold(name, fasthttp.HeaderSetCookie)
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, "\r\n"...)
	b = append(b, name...)
	b = append(b, ": "...)
	return append(b, value...)
}
