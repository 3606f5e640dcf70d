package dispatcher

import (
	"encoding/hex"
	"hash"
	"strconv"
	"time"
)

// The schemes of Signature.
const (
	HMACSHA256 = "hmac-sha256" // "HEX" of the body
	Stripe     = "stripe"      // "t=UNIX,v1=HEX" of the time, a dot and the body
)

// Signature specifies how the body of a delivery is signed.
type Signature struct {
	Secret string
	Header string // name of the header that contains the signature
	Scheme string // HMACSHA256 or Stripe
}

// appendSignature appends the value of the signature header for a body sent at a time.
func (f *form) appendSignature(dst, body []byte, sent time.Time) []byte {
	mac := f.macs.Get().(hash.Hash)
	defer f.macs.Put(mac)
	mac.Reset()
	if f.Sign.Scheme == Stripe {
		dst = append(dst, "t="...)
		from := len(dst)
		dst = strconv.AppendInt(dst, sent.Unix(), 10)
		mac.Write(dst[from:]) // a hash never fails
		mac.Write([]byte{'.'})
		dst = append(dst, ",v1="...)
	}
	mac.Write(body)
	var sum [64]byte
	return hex.AppendEncode(dst, mac.Sum(sum[:0]))
}
