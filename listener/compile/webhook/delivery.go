package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"mockserver/dispatcher"
	"mockserver/internal/address"
	"mockserver/matcher"
)

// texts holds buffers for rendering the parts of a delivery, which are then copied.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// Delivery renders one delivery. The depth is how many webhooks in a row led to the delivery.
// Delivery returns an error if the URL or Host is invalid, or if rendering was stopped.
func (h *Hook) Delivery(r *matcher.Request, depth int) (dispatcher.Delivery, error) {
	if h.url == nil && h.fields == nil && h.body == nil {
		return dispatcher.NewDelivery(h.Shared, h.Delay, depth, dispatcher.Parts{}), nil
	}
	room := texts.Get().(*[]byte)
	b := (*room)[:0]
	var p dispatcher.Parts
	if h.url != nil {
		b = h.url.Append(b, r)
		p.URL = b[:len(b):len(b)]
	}
	begin := len(b)
	b = appendLines(b, h.fields, r)
	var host []byte
	if h.host != nil {
		b = append(b, "Host: "...)
		at := len(b)
		b = h.host.Append(b, r)
		host = b[at:]
		b = append(b, "\r\n"...)
	}
	if h.fields != nil {
		p.Header = b[begin:len(b):len(b)]
	}
	if begin = len(b); h.body != nil {
		b = h.body.Append(b, r)
		p.Body = b[begin:len(b):len(b)]
	}
	var d dispatcher.Delivery
	err := r.Stopped
	if err == nil {
		err = h.renderedError(p.URL, host)
	}
	if err == nil {
		d = dispatcher.NewDelivery(h.Shared, h.Delay, depth, p)
	}
	if cap(b) <= maxKept {
		*room = b
		texts.Put(room)
	}
	return d, err
}

// appendLines appends fields in the form that the dispatcher expects.
func appendLines(dst []byte, fields []field, r *matcher.Request) []byte {
	for i := range fields {
		h := &fields[i]
		dst = append(append(dst, h.name...), ": "...)
		if h.template == nil {
			dst = append(dst, h.value...)
		} else {
			dst = h.template.Append(dst, r)
		}
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// renderedError returns why a rendered URL or Host is invalid. If Host is empty, the host of the
// URL is used.
func (h *Hook) renderedError(url, host []byte) error {
	if h.url != nil {
		if what := address.URLFault(url); what != "" {
			return fmt.Errorf("%q is not a valid URL: %s", address.Shown(string(url)), what)
		}
	}
	if host = bytes.TrimSpace(host); len(host) > 0 {
		if what := address.HostPortFault(host); what != "" {
			return hostError(host, what)
		}
	}
	return nil
}

func hostError(host []byte, what string) error {
	return fmt.Errorf("%q is not the Host of a request: %s", address.Shown(string(host)), what)
}

// Depth returns how many webhooks in a row led to a request.
func Depth(r *matcher.Request) int {
	value, ok := r.Header(dispatcher.DepthHeader)
	if !ok {
		return 0
	}
	depth, err := strconv.Atoi(string(value))
	if errors.Is(err, strconv.ErrRange) {
		return MaxDepth
	}
	return max(depth, 0) // 0 after another error
}
